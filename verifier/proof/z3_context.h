// One Z3 context per thread: a new one costs 10 ms, and expressions of different contexts cannot be mixed.
#pragma once

namespace z3 {
class context;
}

namespace taso::verifier {

z3::context& z3_context();

}  // namespace taso::verifier
