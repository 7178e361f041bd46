// Classifies a picture: classify MODEL.onnx [PICTURE.ppm]. Without a picture, it draws one. The model takes pictures as
// [1, 3, height, width] and returns a score for each class.
#include <taso/session.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>

int main(int argc, char** argv) try {
  if (argc < 2) throw std::runtime_error("usage: classify MODEL.onnx [PICTURE.ppm]");
  taso::Session session(argv[1]);
  const taso_value input = session.inputs().at(0);
  const std::int64_t height = input.shape[2], width = input.shape[3];
  std::vector<float> picture(static_cast<std::size_t>(3 * height * width));
  if (argc > 2) {
    std::ifstream file(argv[2], std::ios::binary);
    std::string kind;
    std::int64_t columns = 0, rows = 0, most = 0;
    file >> kind >> columns >> rows >> most;
    file.get();
    std::vector<char> bytes(static_cast<std::size_t>(3 * width * height));
    if (kind != "P6" || columns != width || rows != height || most != 255 ||
        !file.read(bytes.data(), std::ssize(bytes)))
      throw std::runtime_error("the picture is no binary PPM of the size of the model's input");
    for (std::size_t i = 0; i < bytes.size(); ++i)  // colours become planes
      picture[i % 3 * bytes.size() / 3 + i / 3] = static_cast<float>(static_cast<unsigned char>(bytes[i])) / 255;
  } else {
    for (std::size_t i = 0; i < picture.size(); ++i) picture[i] = static_cast<float>(i % 97) / 97;
  }
  const auto results = session.run({taso::TensorView::of(picture, {1, 3, height, width})});
  const std::span<const float> scores = results.at(0).values<float>();
  const auto best = std::max_element(scores.begin(), scores.end());
  std::printf("class %td of %zu, score %.4f, on %s\n", best - scores.begin(), scores.size(), static_cast<double>(*best),
              session.device().c_str());
} catch (const std::exception& error) {
  std::cerr << "classify: " << error.what() << '\n';
  return 1;
}
