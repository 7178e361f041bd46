#include "generator/enumeration/enumerate.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "generator/enumeration/classes.h"
#include "generator/enumeration/level.h"
#include "generator/enumeration/outbox.h"
#include "generator/enumeration/records.h"
#include "ops/core/error.h"
#include "ops/support/threads.h"

namespace taso::generator {
namespace {

/// From this level on, terms that differ only by the names of inputs are enumerated once. Nothing is built on the last
/// level, and terms built on the level before it can be renamed afterwards.
constexpr std::size_t first_level_of_one_naming = 5;
/// Of each thread, between exchanges: about ten megabytes of results.
constexpr std::size_t tasks_per_round = 16;

template <class T, std::size_t most>
bool share(const SmallVector<T, most>& a, const SmallVector<T, most>& b) {
  for (auto i = a.begin(), k = b.begin(); i != a.end() && k != b.end();) {
    if (*i == *k) return true;
    if (*i < *k)
      ++i;
    else
      ++k;
  }
  return false;
}

/// A schema that takes two given layouts, with an input as third operand if it takes three.
struct Use {
  std::uint16_t schema = 0;
  const Program* program = nullptr;
  ValueId third = Found::none;
};

/// The results of one task.
struct Batch {
  std::array<std::vector<Record>, Records::parts> records;
  std::vector<Found> known;
  std::uint64_t evaluations = 0;
  std::vector<Field> cells;
  std::unordered_map<std::uint64_t, const std::vector<Use>*> uses;
};

using Task = std::function<void(Batch&)>;

/// Values of one level with the same layout.
struct Group {
  LayoutId layout = 0;
  std::vector<ValueId> members;
};

class Enumerator {
 public:
  Enumerator(const Family& family, const EnumerateOptions& options)
      : family_(family),
        options_(options),
        ranks_(options.ranks ? *options.ranks : alone_),
        world_(family, false, options.seed, options.contents),
        programs_(world_) {}

  Enumeration run() {
    for (const std::string& jobs : ranks_.gather(std::to_string(options_.jobs)))
      most_jobs_ = std::max<std::size_t>(most_jobs_, std::stoul(jobs));
    add_inputs();
    for (level_ = 1; level_ <= options_.max_operators && result_.complete; ++level_) {
      const std::optional<Level> level = next_level();
      if (level) add(*level);
      result_.complete = !any(ranks_, !level || is_over());
      if (options_.watch) options_.watch(level_, result_.values);
    }
    for (std::size_t i = 0; i < programs_.layouts(); ++i)
      values().layouts.push_back(programs_.layout(static_cast<LayoutId>(i)));
    drop_renamed();
    return std::move(result_);
  }

 private:
  /// On this rank: others may not know yet.
  bool is_over() const { return options_.stop.stop_requested(); }
  bool is_last() const { return level_ == options_.max_operators; }
  bool has_one_naming() const { return level_ >= first_level_of_one_naming; }
  Values& values() { return result_.table; }

  // --- Memory ---

  std::size_t memory() const {
    const Values& table = result_.table;
    return table.all.capacity() * (sizeof(Value) + 24) + table.contents.capacity() * sizeof(Field) + known_.bytes() +
           result_.found.capacity() * sizeof(Found) + result_.forms.capacity() * sizeof(result_.forms[0]);
  }
  void note_memory(std::size_t more) { result_.memory = std::max(result_.memory, memory() + more); }
  std::size_t memory_left() const {
    // Leave room for equalities and for what follows the enumeration.
    const std::size_t limit = options_.memory_limit / 4 * 3, used = memory();
    if (used > limit) throw EnvironmentError("the memory limit is too small for this many operators");
    return std::max<std::size_t>((limit - used) / 2, 1 << 20);
  }

  // --- Inputs ---

  void add_inputs() {
    std::size_t place = 0;
    for (const InputKind& kind : family_.inputs) {
      values().firsts.push_back(place);
      place += kind.count;
    }
    check(place <= 64 && family_.inputs.size() <= 16, "a family has few inputs");
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < world_.inputs(); ++i) {
      const Item& item = world_.input(i);
      const Layout layout = item.layout();
      Value value;
      value.form.operands[0] = static_cast<ValueId>(i);
      value.uses.push_back(static_cast<std::uint8_t>(i));
      value.shape = world_.kind_of(i) + 1;
      value.layout = programs_.layout(layout);
      value.contents = values().contents.size();
      values().contents.insert(values().contents.end(), item.tensor.data.begin(), item.tensor.data.end());
      values().kinds.push_back(world_.kind_of(i));
      known_.insert(fingerprint(seed_of(layout), item.tensor.data), static_cast<ValueId>(i));
      values().all.push_back(value);
      inputs.push_back(static_cast<ValueId>(i));
    }
    result_.values = inputs.size();
    add_level(inputs);
  }

  void add_level(const std::vector<ValueId>& members) {
    std::map<LayoutId, std::vector<ValueId>> by_layout;
    for (const ValueId id : members) by_layout[values()[id].layout].push_back(id);
    std::vector<Group> groups;
    for (auto& [layout, ids] : by_layout) groups.push_back({layout, std::move(ids)});
    // The ids of layouts depend on what was compiled first, but all ranks must agree on the order of tasks.
    std::sort(groups.begin(), groups.end(),
              [](const Group& a, const Group& b) { return a.members.front() < b.members.front(); });
    groups_.push_back(std::move(groups));
    by_size_.push_back(members);
  }

  // --- Pairing operands ---

  void collect(Records& records, Share& share) {
    std::vector<Task> tasks;
    add_simple_tasks(tasks);
    add_tasks_of_strangers(tasks);
    add_tasks_of_three(tasks);
    index_nodes();
    add_tasks_of_relatives(tasks);
    // Between rounds, the ranks exchange results.
    const std::size_t ranks = ranks_.size(), round = ranks == 1 ? tasks.size() : tasks_per_round * most_jobs_ * ranks;
    for (std::size_t begin = 0; begin < tasks.size(); begin += round) {
      Outbox outbox(ranks_);
      std::mutex mutex;
      const std::size_t mine = begin + ranks_.rank(), end = std::min(begin + round, tasks.size());
      parallel_for(options_.jobs, mine < end ? (end - mine + ranks - 1) / ranks : 0, options_.stop, [&](std::size_t i) {
        Batch batch;
        tasks[mine + i * ranks](batch);
        outbox.take_from(batch.records);
        records.add(batch.records);
        const std::lock_guard lock(mutex);
        share.known.insert(share.known.end(), batch.known.begin(), batch.known.end());
        share.evaluations += batch.evaluations;
      });
      outbox.deliver(records);
    }
    share.spilled = records.spilled();
  }

  /// Adds one task f(begin, end) for each piece of a range.
  template <class F>
  static void add_pieces(std::vector<Task>& tasks, std::size_t count, std::size_t piece, F f) {
    for (std::size_t begin = 0; begin < count; begin += piece)
      tasks.push_back([=, end = std::min(begin + piece, count)](Batch& batch) { f(batch, begin, end); });
  }

  /// Constants and operators with one operand.
  void add_simple_tasks(std::vector<Task>& tasks) {
    for (std::size_t s = 0; s < family_.schemas.size(); ++s) {
      const auto schema = static_cast<std::uint16_t>(s);
      if (family_.schemas[s].operands == 0 && level_ == 1) {
        const Program* program = programs_.find(s, {});
        if (program) tasks.push_back([=, this](Batch& batch) { apply(batch, schema, *program, {}); });
      }
      if (family_.schemas[s].operands != 1) continue;
      for (const Group& group : groups_[level_ - 1]) {
        const Program* program = programs_.find(s, std::array{group.layout});
        if (program)
          add_pieces(tasks, group.members.size(), 4096,
                     [=, this, &group](Batch& batch, std::size_t i, std::size_t end) {
                       for (; i < end && !is_over(); ++i) apply(batch, schema, *program, {group.members[i]});
                     });
      }
    }
  }

  /// Pairs of operands that share no operator.
  void add_tasks_of_strangers(std::vector<Task>& tasks) {
    const std::size_t size = level_ - 1;
    for (std::size_t i = 0; i <= size; ++i)
      for (const Group& left : groups_[i])
        for (const Group& right : groups_[size - i]) {
          const std::vector<Use>& uses = uses_of(left.layout, right.layout);
          if (uses.empty()) continue;
          const std::size_t piece = std::max<std::size_t>(20000 / (right.members.size() * uses.size()), 1);
          const bool may_share = i > 0 && i < size;
          add_pieces(tasks, left.members.size(), piece,
                     [=, this, &left, &right, &uses](Batch& batch, std::size_t k, std::size_t end) {
                       for (; k < end && !is_over(); ++k)
                         for (const ValueId b : right.members)
                           if (!may_share || !share(values()[left.members[k]].nodes, values()[b].nodes))
                             apply_pair(batch, left.members[k], b, uses);
                     });
        }
  }

  /// Triples whose third operand, a bias, is computed, and of which no two share an operator. Left out where a bias can
  /// be written as one number per channel: that it can be taken out would then follow from putting in a reshaped one,
  /// and nobody reshapes an input twice to get there.
  void add_tasks_of_three(std::vector<Task>& tasks) {
    if (world_.has_channels()) return;
    for (std::size_t s = 0; s < family_.schemas.size(); ++s)
      for (std::size_t third = 1; third < level_ && family_.schemas[s].operands == 3; ++third)
        for (std::size_t i = 0; i + third < level_; ++i)
          for (const Group& left : groups_[i])
            for (const Group& right : groups_[level_ - 1 - third - i])
              for (const Group& last : groups_[third])
                if (const Program* program = programs_.find(s, std::array{left.layout, right.layout, last.layout}))
                  add_tasks_of_three(tasks, static_cast<std::uint16_t>(s), *program, left, right, last);
  }

  void add_tasks_of_three(std::vector<Task>& tasks, std::uint16_t schema, const Program& program, const Group& left,
                          const Group& right, const Group& last) {
    const std::size_t piece = std::max<std::size_t>(20000 / (right.members.size() * last.members.size()), 1);
    const auto are_strangers = [this](ValueId a, ValueId b) { return !share(values()[a].nodes, values()[b].nodes); };
    add_pieces(tasks, left.members.size(), piece,
               [=, this, &program, &left, &right, &last](Batch& batch, std::size_t k, std::size_t end) {
                 for (; k < end && !is_over(); ++k)
                   for (const ValueId b : right.members) {
                     if (!are_strangers(left.members[k], b)) continue;
                     for (const ValueId c : last.members)
                       if (are_strangers(left.members[k], c) && are_strangers(b, c))
                         apply(batch, schema, program, {left.members[k], b, c});
                   }
               });
  }

  /// Pairs of operands that share an operator.
  void add_tasks_of_relatives(std::vector<Task>& tasks) {
    const std::size_t size = level_ - 1;
    if (size == 0) return;
    // One of them is part of the other, or both are results of one operator.
    const std::vector<ValueId>& whole = by_size_[size];
    add_pieces(tasks, whole.size(), 512, [=, this, &whole](Batch& batch, std::size_t i, std::size_t end) {
      for (; i < end && !is_over(); ++i) {
        const ValueId a = whole[i];
        for (const std::uint32_t node : values()[a].nodes)
          for (const ValueId b : values_of_node_[node]) {
            if (b == Found::none) continue;
            apply_pair(batch, a, b);
            if (values()[b].size < size) apply_pair(batch, b, a);
          }
      }
    });
    for (std::size_t i = 2; i < size; ++i) {
      const std::vector<ValueId>& some = by_size_[i];
      add_pieces(tasks, some.size(), 64, [=, this, &some](Batch& batch, std::size_t k, std::size_t end) {
        for (; k < end && !is_over(); ++k) apply_to_relatives(batch, some[k], size);
      });
    }
  }

  void apply_to_relatives(Batch& batch, ValueId a, std::size_t size) {
    const auto& left = values()[a].nodes;
    for (const std::uint32_t node : left)
      for (const ValueId b : by_node_[node]) {
        const auto& right = values()[b].nodes;
        std::size_t shared = 0;
        std::uint32_t first = 0;
        for (auto i = left.begin(), k = right.begin(); i != left.end() && k != right.end();) {
          if (*i == *k && shared++ == 0) first = *i;
          if (*i < *k)
            ++i;
          else
            ++k;
        }
        // Count the pair only at the first operator that they share.
        if (left.count + right.count - shared == size && first == node) apply_pair(batch, a, b);
      }
  }

  void index_nodes() {
    by_node_.assign(values_of_node_.size(), {});
    for (std::size_t size = 2; size + 1 < level_; ++size)
      for (const ValueId id : by_size_[size])
        for (const std::uint32_t node : values()[id].nodes) by_node_[node].push_back(id);
  }

  /// The operators that apply to operands of these layouts.
  const std::vector<Use>& uses_of(LayoutId left, LayoutId right) {
    const std::uint64_t key = std::uint64_t{left} << 32 | right;
    const std::lock_guard lock(uses_mutex_);
    const auto [slot, fresh] = uses_.try_emplace(key);
    if (fresh)
      for (std::size_t s = 0; s < family_.schemas.size(); ++s) {
        const auto schema = static_cast<std::uint16_t>(s);
        if (family_.schemas[s].operands == 2)
          if (const Program* program = programs_.find(s, std::array{left, right}))
            slot->second.push_back({schema, program});
        if (family_.schemas[s].operands == 3)
          for (const ValueId third : by_size_[0])
            if (const Program* program = programs_.find(s, std::array{left, right, values()[third].layout}))
              slot->second.push_back({schema, program, third});
      }
    return slot->second;
  }

  void apply_pair(Batch& batch, ValueId a, ValueId b) {
    const LayoutId left = values()[a].layout, right = values()[b].layout;
    const auto [slot, fresh] = batch.uses.try_emplace(std::uint64_t{left} << 32 | right, nullptr);
    if (fresh) slot->second = &uses_of(left, right);
    apply_pair(batch, a, b, *slot->second);
  }

  void apply_pair(Batch& batch, ValueId a, ValueId b, const std::vector<Use>& uses) {
    for (const Use& use : uses) {
      // One order is enough. For two inputs both are kept: that they commute is a rule of its own.
      if (family_.schemas[use.schema].commutes && a > b && (values()[a].size > 0 || values()[b].size > 0)) continue;
      if (use.third == Found::none)
        apply(batch, use.schema, *use.program, {a, b});
      else
        apply(batch, use.schema, *use.program, {a, b, use.third});
    }
  }

  // --- Applying operators ---

  void apply(Batch& batch, std::uint16_t schema, const Program& program, std::initializer_list<ValueId> operands) {
    Form form{schema, 0, static_cast<std::uint8_t>(operands.size()), {}};
    std::copy(operands.begin(), operands.end(), form.operands.begin());
    const bool is_canonical = values().is_canonical(form);
    if (has_one_naming() && !is_canonical) return;
    std::array<const Field*, Form::most_operands> contents{};
    for (std::size_t i = 0; i < form.count; ++i) contents[i] = values().contents_of(form.operands[i]);
    const auto results = program.run(std::span(contents.data(), form.count), batch.cells);
    ++batch.evaluations;
    std::size_t begin = 0;
    for (const std::size_t size : program.sizes) {
      if (is_zero(results.subspan(begin, size))) return;
      begin += size;
    }
    begin = 0;
    for (std::size_t output = 0; output < program.sizes.size(); ++output) {
      Fingerprint key = fingerprint(program.seeds[output], results.subspan(begin, program.sizes[output]));
      begin += program.sizes[output];
      form.output = static_cast<std::uint8_t>(output);
      const ValueId known = known_.find(key);
      if (known != Found::none) {
        batch.known.push_back({known, Found::none, form});
        continue;
      }
      if (!is_canonical) key.low |= named_otherwise;
      batch.records[Records::part_of(key)].push_back({key, form});
    }
  }

  // --- Finding new values ---

  /// The level as an earlier run kept it, or found now. Nothing if any rank was asked to stop.
  std::optional<Level> next_level() {
    const std::string stage = level_stage(level_);
    if (const auto kept = options_.stages.load(ranks_, stage)) return level_from(*kept);
    std::optional<Level> found = find_level();
    if (found.has_value() && options_.stages.is_worth(found->evaluations))
      options_.stages.save(stage, bytes_of(*found));
    return found;
  }

  std::optional<Level> find_level() {
    Records records(memory_left());
    Share mine;
    collect(records, mine);
    note_memory(records.bytes() + mine.known.size() * sizeof(Found));
    settle(records, mine);
    std::optional<Level> level =
        level_of(shares_of_all(std::move(mine), ranks_), static_cast<ValueId>(values().size()));
    if (level) note_memory(level->found.capacity() * sizeof(Found) + level->fresh.capacity() * sizeof(Fresh));
    return level;
  }

  /// Sorts the records of this rank into classes.
  void settle(Records& records, Share& share) {
    std::array<std::vector<Class>, Records::parts> by_part;
    std::array<std::uint64_t, Records::parts> counts{};
    std::array<double, Records::parts> graphs{};
    parallel_for(options_.jobs, Records::parts, options_.stop, [&](std::size_t part) {
      std::vector<Record> taken = records.take(part);
      for (const Record& record : taken) graphs[part] += graphs_of(result_.table, record.form);
      by_part[part] = classes_of(std::move(taken), family_, result_.table, is_last(), counts[part]);
    });
    share.complete = !is_over();
    for (std::size_t part = 0; part < Records::parts; ++part) {
      std::move(by_part[part].begin(), by_part[part].end(), std::back_inserter(share.classes));
      by_part[part] = {};
      share.values += counts[part];
      share.graphs += graphs[part];
    }
    for (const Found& one : share.known) share.graphs += graphs_of(result_.table, one.form);
  }

  void add(const Level& level) {
    result_.values += level.values;
    result_.evaluations += level.evaluations;
    result_.spilled += level.spilled;
    result_.graphs += level.graphs;
    add_values(level.fresh);
    add_found(level.found);
  }

  void add_values(const std::vector<Fresh>& fresh) {
    const auto first = static_cast<ValueId>(values().size());
    std::size_t contents = values().contents.size();
    values().all.reserve(values().size() + fresh.size());
    if (!is_last()) known_.reserve(known_.size() + fresh.size());
    const Form* before = nullptr;
    std::vector<ValueId> members;
    for (const Fresh& one : fresh) {
      const Form& form = one.form;
      const auto id = static_cast<ValueId>(values().size());
      const bool is_same_application = before && before->schema == form.schema && before->operands == form.operands;
      if (!is_same_application) values_of_node_.push_back({Found::none, Found::none});
      values_of_node_.back()[is_same_application ? 1 : 0] = id;
      Value value = value_of(form);
      value.contents = contents;
      value.graphs = one.graphs;
      values().all.push_back(value);
      if (!is_last()) {
        contents += programs_.layout(value.layout).size();
        known_.insert(one.key, id);
        members.push_back(id);
      }
      before = &form;
    }
    values().contents.resize(contents);
    compute_contents(first, members.size());
    add_level(members);
  }

  const Program& program_of(const Form& form) {
    std::array<LayoutId, Form::most_operands> layouts{};
    for (std::size_t i = 0; i < form.count; ++i) layouts[i] = values()[form.operands[i]].layout;
    const Program* program = programs_.find(form.schema, std::span(layouts.data(), form.count));
    check(program != nullptr, "a form that was applied can be applied again");
    return *program;
  }

  Value value_of(const Form& form) {
    Value value;
    value.form = form;
    value.size = static_cast<std::uint8_t>(level_);
    value.shape = values().shape_of(form);
    value.layout = program_of(form).result_layouts[form.output];
    std::vector<std::uint32_t> nodes{static_cast<std::uint32_t>(values_of_node_.size() - 1)};
    const auto order = values().in_order_of_naming(form);
    for (std::size_t i = 0; i < form.count; ++i) {
      const Value& operand = values()[order[i]];
      nodes.insert(nodes.end(), operand.nodes.begin(), operand.nodes.end());
      for (const std::uint8_t input : operand.uses)
        if (std::find(value.uses.begin(), value.uses.end(), input) == value.uses.end()) value.uses.push_back(input);
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    for (const std::uint32_t node : nodes) value.nodes.push_back(node);
    return value;
  }

  void compute_contents(ValueId first, std::size_t count) {
    constexpr std::size_t piece = 4096;
    parallel_for(options_.jobs, (count + piece - 1) / piece, options_.stop, [&](std::size_t at) {
      std::vector<Field> cells;
      for (std::size_t i = at * piece; i < std::min((at + 1) * piece, count); ++i) {
        const Value& value = values()[first + static_cast<ValueId>(i)];
        const Program& program = program_of(value.form);
        std::array<const Field*, Form::most_operands> contents{};
        for (std::size_t k = 0; k < value.form.count; ++k) contents[k] = values().contents_of(value.form.operands[k]);
        const auto results = program.run(std::span(contents.data(), value.form.count), cells);
        std::size_t begin = 0;
        for (std::size_t output = 0; output < value.form.output; ++output) begin += program.sizes[output];
        std::copy_n(results.begin() + static_cast<std::ptrdiff_t>(begin), program.sizes[value.form.output],
                    values().contents.begin() + static_cast<std::ptrdiff_t>(value.contents));
      }
    });
  }

  // --- Equalities ---

  /// Whether this equality represents all those that differ only by the names of inputs.
  bool is_named_well(const Found& one) const {
    if (has_one_naming()) return true;
    const Values& table = result_.table;
    std::vector<ValueId> order{one.known};
    if (one.second != Found::none) order.push_back(one.second);
    for (const ValueId operand : one.form.used()) order.push_back(operand);
    return table.is_canonical(order);
  }

  void add_found(const std::vector<Found>& found) {
    std::vector<Found> splits;
    const bool keeps_forms = level_ <= std::max(options_.max_operators - 1, levels_of_forms);
    for (const Found& one : found) {
      ++result_.equalities;
      if (keeps_forms) result_.forms.push_back({one.known, one.form, static_cast<std::uint8_t>(level_)});
      if (is_named_well(one)) result_.found.push_back(one);
      if (is_split(family_, one.form)) splits.push_back(one);
    }
    // Both results of a split are known: two results from one operator.
    std::sort(splits.begin(), splits.end(), [](const Found& a, const Found& b) {
      return std::tie(a.form.schema, a.form.operands, a.form.output) <
             std::tie(b.form.schema, b.form.operands, b.form.output);
    });
    for (std::size_t i = 1; i < splits.size(); ++i) {
      const Found &a = splits[i - 1], &b = splits[i];
      if (a.form.schema != b.form.schema || a.form.operands != b.form.operands) continue;
      const Found both{a.known, b.known, a.form};
      ++result_.equalities;
      if (is_named_well(both)) result_.found.push_back(both);
    }
  }

  void drop_renamed() {
    std::unordered_set<std::uint64_t> seen;
    std::erase_if(result_.found, [&](const Found& one) {
      return !seen.insert(values().shape_of(one.known, one.second, one.form)).second;
    });
  }

  const Family& family_;
  const EnumerateOptions& options_;
  OneRank alone_;
  Communicator& ranks_;
  SampleInputs world_;
  Programs programs_;
  Enumeration result_;
  FlatTable<Fingerprint, HashFingerprint> known_;  // values of earlier levels
  std::vector<std::vector<ValueId>> by_size_;
  std::vector<std::vector<Group>> groups_;                    // by size
  std::vector<std::array<ValueId, 2>> values_of_node_;        // by the number of an application
  std::vector<std::vector<ValueId>> by_node_;                 // values that contain it
  std::unordered_map<std::uint64_t, std::vector<Use>> uses_;  // by both layouts
  std::mutex uses_mutex_;
  std::size_t level_ = 0;
  std::size_t most_jobs_ = 1;  // of any rank
};

}  // namespace

std::string level_stage(std::size_t level) { return "level " + std::to_string(level); }

Enumeration enumerate(const Family& family, const EnumerateOptions& options) {
  return Enumerator(family, options).run();
}

}  // namespace taso::generator
