// One Z3 context for each thread: a fresh one costs 10 ms, and expressions of different ones do not mix.
#pragma once

namespace z3 {
class context;
}

namespace taso::verifier {

z3::context& z3_context();

}  // namespace taso::verifier
