// Fills the page from the report and the details. Names come from the model and may be anything: they only ever become
// text, never markup.
"use strict";

const report = JSON.parse(document.getElementById("report").textContent);
const details = JSON.parse(document.getElementById("details").textContent);

const objective = report.search ? report.search.objective : "time";
function cost(number) {
  if (objective === "memory") return bytes(number);
  return objective === "launches" ? plural(number, "kernel") : time(number);
}

const fileName = (path) => path.split(/[\\/]/).pop();
const before = report.before, after = report.after;
const runTime = (side) => side.predicted && (side.predicted.seconds_in_lanes || side.predicted.seconds);
const hasTimes = Boolean(before.predicted && after.predicted);
const isChanged = Boolean(report.search && report.search.applied.length);
const isBad = report.verdict === "FAILED";
const cleanUps = Object.entries(report.passes).filter(([, count]) => count);
// What the predictions compare with: clean-ups are not credited to the search, because every runtime does them first.
const start = cleanUps.length ? "cleaned up" : "as read";
const inRuntime = report.in_runtime && report.in_runtime.original_seconds > 0 ? report.in_runtime : null;
const KEPT = {
  search: "clean-ups and search",
  "clean-ups": "clean-ups",
  original: "the model as read"
};

// The times that were measured in ONNX Runtime, in the order of the work; null for what did not run.
function measuredThere() {
  const {original_seconds: original, clean_ups: cleaned, search: found} = inRuntime;
  const seconds = (name, ratio) => inRuntime[name] || (ratio ? original / ratio.ratio : 0);
  return {
    original: {seconds: original, ratio: null},
    "clean-ups": cleaned && {seconds: seconds("clean_ups_seconds", cleaned), ratio: cleaned},
    search: found && { seconds: seconds("search_seconds", found), ratio: found }
  };
}

// What came out, in a few words, and the figures behind them. What was measured counts more than what was predicted.
function outcome() {
  const search = report.search, cleaned = cleanUps.length > 0;
  if (isBad) return ["The check failed: nothing was written", ""];
  if (inRuntime) {
    const kept = measuredThere()[inRuntime.written];
    if (!kept || !kept.ratio) return ["The model stays as it is: nothing was faster in ONNX Runtime", ""];
    const figures =
        `measured: ${time(inRuntime.original_seconds)} → ${time(kept.seconds)} (${range(kept.ratio)} times as fast)`;
    if (isFaster(kept.ratio)) return [`${speed(kept.ratio.ratio)} in ONNX Runtime`, figures];
    return [`${isChanged ? "Rewritten" : "Cleaned up"}; no difference beyond noise in ONNX Runtime`, figures];
  }
  if (isChanged && report.confirmed)
    return [`${speed(report.confirmed.ratio)} on the GPU`, `measured: ${range(report.confirmed)} times as fast`];
  if (isChanged && objective !== "time") {
    const what = objective === "memory" ? "peak memory" : "kernels";
    const value = (side) => objective === "memory" ? side.predicted.peak_activation_bytes : side.predicted.kernels;
    if (!hasTimes) return [`Rewritten for fewer ${objective === "memory" ? "bytes" : what}`, ""];
    return [
      `Predicted: ${percent(1 - value(after) / value(before))} less ${what}`.replace("less kernels", "fewer kernels"),
      objective === "memory" ? `${bytes(value(before))} → ${bytes(value(after))}` :
                               `${whole(value(before))} → ${whole(value(after))}`
    ];
  }
  if (isChanged && hasTimes)
    return [
      `Predicted: ${speed(runTime(before) / runTime(after))}`, `${time(runTime(before))} → ${time(runTime(after))}`
    ];
  if (isChanged) return ["The model was rewritten", ""];
  const word = objective === "time" ? "faster" : "better";
  const why = !search ? "" : search.note ? `; no ${word} graph was kept` : `; no ${word} graph found`;
  return [cleaned ? `Cleaned up${why}` : `The model stays as it is${why}`, ""];
}

function fillHeader() {
  document.title = `${fileName(report.input)} – taso-opt`;
  byId("program").textContent = `${report.program.name} ${report.program.version}`;
  byId("model").textContent = fileName(report.input);
  const [lead, sub] = outcome();
  byId("headline")
      .append(
          el("span",
             {class: `verdict ${
                  report.verdict === "PASSED" ? "good" :
                      isBad                   ? "bad" :
                                                "plain"}`},
             report.verdict),
          el("span", {class: "lead"}, lead), el("span", {class: "sub"}, sub));
  fillRuntime();
  const check = report.check, checks = byId("checks");
  const line = (kind, ...text) => checks.append(el("li", {class: kind}, ...text));
  if (isChanged)
    line(
        "good",
        `Every rewrite follows a proved rule (${plural(report.search.applied.length, "rule")} used, rule set ${
            report.search.rules_hash.slice(0, 8)}).`);
  if (!check)
    line("open", "The outputs were not compared, because the check is off.");
  else
    line(
        check.passed ? "good" : "bad",
        `${check.passed ? "The outputs agree" : "The outputs differ"}: ${report.check_text}.`);
  if (report.certificate)
    line(
        "good", "The certificate was replayed by independent code: ", el("code", {}, fileName(report.certificate)),
        ".");
  else if (!isBad)
    line("open", "No certificate was written.");
  if (isChanged && hasTimes && objective === "time" && (report.confirmed || inRuntime))
    line(
        "open",
        `The search was predicted to make it ${speed(runTime(before) / runTime(after))} (${time(runTime(before))} → ${
            time(runTime(after))}, by the prices of kernels).`);
  else if (isChanged && !inRuntime && !report.confirmed)
    line(
        "open",
        report.in_runtime ? `Times are predictions: ${report.in_runtime.uncertain}.` :
                            "Times are predictions; --confirm or taso-bench measures them on a GPU.");
  if (!report.output && !isBad) line("open", "The model was not written.");
  for (const section of document.querySelectorAll("main > section"))
    byId("contents").append(el("a", {href: `#${section.id}`}, section.querySelector("h2").textContent));
}

// What whole runs in ONNX Runtime showed: this decided what is kept.
function fillRuntime() {
  const box = byId("runtime"), about = report.in_runtime;
  if (!about) {
    box.remove();
    return;
  }
  box.append(el("h2", {}, inRuntime ? "Measured in ONNX Runtime" : "For ONNX Runtime"));
  if (inRuntime) {
    const names = {original: "as read", "clean-ups": "cleaned up", search: "with the search"};
    const most = Math.max(...Object.values(measuredThere()).map((one) => one ? one.seconds : 0));
    const rows = Object.entries(measuredThere())
                     .filter(([, one]) => one)
                     .map(([key, one]) => ({
                            changed: key === about.written,
                            cells: [
                              names[key], time(one.seconds), one.ratio ? measured(one.ratio) : "",
                              key === about.written ? "kept" : "", el("div", {
                                class: `bar ${key === about.written ? "after" : ""}`,
                                style: `width:${110 * one.seconds / most}px`
                              })
                            ]
                          }));
    box.append(table(["model", "a run", "against the model as read", "", ""], rows, [1]));
  }
  const notes = [`Kept: ${KEPT[about.written]}.`];
  if (about.uncertain) notes.push(`${about.uncertain[0].toUpperCase()}${about.uncertain.slice(1)}.`);
  if (about.predicted && about.search_against_clean_ups)
    notes.push(`The search was predicted to make the cleaned-up model ${speed(about.predicted)}, and makes it ${
        speed(about.search_against_clean_ups.ratio)}.`);
  if (inRuntime && about.predicted_clean_ups_seconds > 0)
    notes.push(
        `Prices of kernels add up to ${time(about.predicted_clean_ups_seconds)} for the cleaned-up model, which takes ${
            time(about.clean_ups_seconds)}.`);
  notes.push(`Machine: ${about.machine}.`);
  box.append(el("p", {class: "note"}, notes.join(" ")));
  for (const own of about.own_operators)
    box.append(
        el("p", {class: "note"},
           `ONNX Runtime's own operator ${own.operator} at ${plural(own.places, "place")} (${own.form}): ${
               !own.ratio ?
                   "refused" :
                   `alone it is ${measured(own.ratio)}, so it is ${own.used ? "tried in the model" : "not used"}`}.`));
}

function fillFigures() {
  const figures = byId("figures");
  const group = (name) => figures.append(el("h3", {}, name));
  const add = (name, from, to, format, about, more) => {
    const most = Math.max(from, to) || 1, change = from ? (to - from) / from : 0;
    const text = from === to      ? "unchanged" :
        Math.abs(change) < 0.0005 ? "nearly unchanged" :
                                    `${percent(Math.abs(change))} ${change < 0 ? "less" : "more"}`;
    const kind = Math.abs(change) < 0.01 ? "quiet" : change < 0 ? "good" : "bad";
    figures.append(
        el("div", {class: "figure", title: about || ""}, el("div", {class: "name"}, name),
           el("div", {class: "values"}, from === to ? null : el("span", {class: "was"}, `${format(from)} →`), " ",
              el("span", {}, format(to))),
           el("div", {class: "bars"}, el("div", {class: "bar", style: `width:${100 * from / most}%`}),
              el("div", {class: "bar after", style: `width:${100 * to / most}%`})),
           el("div", {class: `change ${kind}`}, text), more ? el("div", {class: "quiet small"}, more) : null));
  };
  if (hasTimes) {
    const a = before.predicted, b = after.predicted;
    group(`A run, as predicted: ${start} → result`);
    if (a.seconds_in_lanes && b.seconds_in_lanes) {
      add("Predicted, concurrent", a.seconds_in_lanes, b.seconds_in_lanes, time,
          "independent kernels run at the same time, in streams: the time that counts");
      add("Predicted, sequential", a.seconds, b.seconds, time, "one kernel after the other");
    } else {
      add("Predicted, sequential", a.seconds, b.seconds, time, "one kernel after the other");
    }
    add("Kernels", a.kernels, b.kernels, whole);
    add("Bytes moved", a.bytes_moved, b.bytes_moved, bytes, "read and written by all kernels");
    add("Peak memory", a.peak_activation_bytes, b.peak_activation_bytes, bytes, "of activations");
  }
  group("The model: as read → result");
  const cleaned = report.cleaned_up ? before.nodes - report.cleaned_up.nodes : 0;
  const found = before.nodes - after.nodes - cleaned;
  const share = (number, by) =>
      number === 0 ? [] : [`${whole(Math.abs(number))} ${number > 0 ? "fewer" : "more"} by ${by}`];
  add("Operators", before.nodes, after.nodes, whole, "nodes of the model file",
      report.cleaned_up ? [...share(cleaned, "clean-ups"), ...share(found, "the search")].join(", ") : "");
  add("File", before.bytes, after.bytes, bytes, "message and weights");
  const sure = [];
  if (hasTimes) {
    const share = (side) => side.predicted.seconds > 0 ? side.predicted.measured_seconds / side.predicted.seconds : 0;
    const [first, second] = [share(before), share(after)], least = Math.min(first, second);
    if (least > 0.995)
      sure.push("All of the predicted time adds up kernels that were measured.");
    else if (first === 0 && second === 0)
      sure.push("How sure: no kernel of this model was measured; all times are estimated.");
    else
      sure.push(`How sure: ${percent(first)}${
          first === second ?
              " of the time" :
              ` of the time before and ${percent(second)} after`} comes from measured kernels; the rest is estimated.`);
    sure.push(`Prices: ${report.prices}.`);
    if (cleanUps.length)
      sure.push("Predictions start from the cleaned-up model: what clean-ups save is not credited to the search.");
    if (after.predicted.no_lanes) sure.push(`Concurrent time is not predicted: ${after.predicted.no_lanes}.`);
  } else {
    sure.push("There is no prediction, because the model has no plan.");
  }
  const inputs = Object.entries(report.assumed_sizes.inputs).map(([name, shape]) => `${name} ${shape.join("×")}`);
  if (inputs.length)
    sure.push(`Sizes that the model leaves open are assumed: ${inputs.join(", ")} (--test-input-shape changes them).`);
  if (report.assumed_sizes.sizes_inside)
    sure.push(`${plural(report.assumed_sizes.sizes_inside, "inner size")} that no input determines counted as 1.`);
  byId("sureness").textContent = sure.join(" ");
  const names = [...new Set([...Object.keys(before.operators), ...Object.keys(after.operators)])].sort();
  const rows =
      names
          .map((name) => {
            const from = before.operators[name] || 0, to = after.operators[name] || 0, change = to - from;
            return {
              change: Math.abs(change),
              changed: change !== 0,
              cells: [name, whole(from), whole(to), change ? (change > 0 ? "+" : "−") + whole(Math.abs(change)) : ""]
            };
          })
          .sort((a, b) => b.change - a.change);
  byId("operators").append(table(["operator", "as read", "result", "change"], rows, [1, 2, 3]));
}

function fillSearch() {
  const search = report.search;
  if (!search) {
    byId("search-note").textContent = "Nothing was searched: only the clean-ups ran.";
    return;
  }
  const kind = search.network.kind === "unknown" ?
      "" :
      ` Recognised as “${search.network.kind}”: rules that paid off for such networks were preferred.`;
  const places = `Rules applied in ${plural(search.matched, "place")}.`;
  byId("search-note").textContent = `Graphs expanded: ${whole(search.expanded)}, with ${
                                        whole(search.usable_rules)} of ${whole(search.rules)} rules. ` +
      `${places} ${search.end[0].toUpperCase()}${search.end.slice(1)}.${kind}`;
  const found = drawCourse(search);
  if (!search.applied.length) {
    byId("course").append(el("p", {class: "note"}, whyNothing(search, found)));
    return;
  }
  const most = Math.max(...search.applied.map((one) => Math.abs(one.saved))) || 1;
  const signed = (saved) => saved < 0 ? `−${cost(-saved)}` : cost(saved);
  const bar = (saved) => el("div", {
    class: "bar after",
    style: `width:${Math.min(120, Math.max(2, 90 * Math.abs(saved) / most))}px${
        saved < 0 ? ";background:var(--gone)" : ""}`
  });
  const rows = [...search.applied].sort((a, b) => b.saved - a.saved).map((one) => {
    const rule = details && details.rules[one.rule];
    return {
      cells: [
        el("code", {}, one.rule), whole(one.count), signed(one.saved), bar(one.saved),
        rule ? mathematics(rule, "15px") : ""
      ]
    };
  });
  for (const {name, about, saved, count, isSum} of savings(search))
    rows.push({changed: isSum, kind: isSum ? "sum" : "", cells: [name, count || "", signed(saved), "", about]});
  byId("applied").append(
      el("h3", {style: "margin-top:24px"}, "Rules on the way to the result"),
      table(["rule", "times", "saved", "", "what it says"], rows, [1, 2]));
  if (search.applied.some((one) => one.saved < 0))
    byId("applied").append(el("p", {class: "note"}, "A step that costs something makes a later one possible."));
}

// The lines below the rules: how what they saved adds up to the difference of the predictions.
function savings(search) {
  const rules = search.applied.reduce((sum, one) => sum + one.saved, 0);
  const count = whole(search.applied.reduce((sum, one) => sum + one.count, 0));
  const lines = [], about = objective === "time" ? "in prices of kernels" : "";
  if (search.applied.length > 1) lines.push({name: "all rules", about, saved: rules, count, isSum: true});
  if (!hasTimes) return lines;
  const a = before.predicted, b = after.predicted;
  const add = (name, about, saved, whole) => {
    if (Math.abs(saved) >= 0.0005 * Math.abs(whole)) lines.push({name, about, saved});
  };
  if (objective !== "time") {
    const [from, to] =
        objective === "memory" ? [a.peak_activation_bytes, b.peak_activation_bytes] : [a.kernels, b.kernels];
    if (objective === "memory")
      add("places used again", "rules save bytes that are written, many of them to the same place", from - to - rules,
          from);
    else
      add("the whole plan", "in the faster layout", from - to - rules, from);
    lines.push({
      name: objective === "memory" ? "peak memory" : "kernels",
      about: `${cost(from)} → ${cost(to)}`,
      saved: from - to,
      isSum: true
    });
    return lines;
  }
  add("repeated kernels, copies", "a repeated kernel takes less than its price; outputs are copied",
      a.seconds - b.seconds - rules, a.seconds);
  lines.push({
    name: "predicted, sequential",
    about: `${time(a.seconds)} → ${time(b.seconds)}`,
    saved: a.seconds - b.seconds,
    isSum: true
  });
  if (!a.seconds_in_lanes || !b.seconds_in_lanes) return lines;
  const [hidBefore, hidAfter] = [a.seconds - a.seconds_in_lanes, b.seconds - b.seconds_in_lanes];
  const rest = hidAfter - hidBefore;
  if (Math.abs(rest) < 0.0005 * a.seconds) return lines;
  add("streams", `concurrent kernels saved ${time(hidBefore)} before, and save ${time(hidAfter)} in the result`, rest,
      a.seconds);
  lines.push({
    name: "predicted, concurrent",
    about: `${time(a.seconds_in_lanes)} → ${time(b.seconds_in_lanes)}`,
    saved: a.seconds_in_lanes - b.seconds_in_lanes,
    isSum: true
  });
  return lines;
}

/// Why the graph is as it was; `found` is the share of the cost that the best graph saves.
function whyNothing(search, found) {
  if (search.note) {
    const best =
        found > 0 ? `The best graph costs ${percent(found)} less, as a sum of prices, and ` : "A graph was found, and ";
    return `${best}was not kept: ${search.note}.`;
  }
  if (found === 0) return "None of these graphs is cheaper than the one that the search started from.";
  const cheapest = `The cheapest graph costs ${percent(found)} less as a sum of prices, one kernel after the other`;
  if (search.tried_in_lanes)
    return `${cheapest}. With concurrent kernels, which is the time that counts, none of ${
        whole(search.tried_in_lanes)} graphs is faster by ${search.min_gain_percent} %.`;
  return `${cheapest}, in parts; as a whole, no graph saves ${search.min_gain_percent} %.`;
}

/// The share of the cost that the best graph saves. A search that found nothing has no course to draw.
function drawCourse(search) {
  const course = search.course.filter((moment) => moment[2] > 0);
  if (course.length < 2 || course.every((moment) => moment[2] === course[0][2])) return 0;
  const wide = Math.max(320, Math.min(760, byId("course").clientWidth)), [high, left, low] = [200, 74, 34];
  const lastX = Math.max(1, course[course.length - 1][1]), costs = course.map((moment) => moment[2]);
  const most = Math.max(...costs), least = Math.min(...costs), span = most - least || most * 0.1 || 1;
  const x = (expanded) => left + (wide - left - 16) * expanded / lastX,
        y = (value) => 14 + (high - low - 24) * (most - value) / span;
  let path = `M${x(course[0][1])} ${y(course[0][2])}`;
  for (const moment of course.slice(1)) path += ` H${x(moment[1])} V${y(moment[2])}`;
  const chart =
      svg("svg", {
        viewBox: `0 0 ${wide} ${high}`,
        class: "chart",
        role: "img",
        "aria-label": "The course of the search",
        style: `max-width:${wide}px;width:100%`
      },
          svg("line", {x1: left, x2: wide - 16, y1: high - low, y2: high - low}), svg("path", {d: path}));
  for (const value of most === least ? [most] : [most, least]) {
    const text = cost(most) !== cost(least) || value === most ? cost(value) : `${percent(1 - least / most)} less`;
    chart.append(svg("text", {x: left - 8, y: y(value) + 4, "text-anchor": "end"}, text));
    chart.append(svg("line", {x1: left, x2: wide - 16, y1: y(value), y2: y(value), "stroke-dasharray": "2 4"}));
  }
  chart.append(
      svg("text", {x: left, y: high - low + 20}, "0"),
      svg("text", {x: wide - 16, y: high - low + 20, "text-anchor": "end"},
          `${whole(lastX)} graphs, ${significant(course[course.length - 1][0])} s`));
  byId("course").append(
      el("h3", {style: "margin-top:18px"}, objective === "time" ? "Best sum of prices so far" : "Best cost so far"),
      chart);
  return 1 - least / most;
}

function fillOpaque() {
  const coverage = report.coverage, note = byId("opaque-note");
  if (!coverage) {
    note.textContent = "Nothing was understood: the model cannot be imported.";
    return;
  }
  const hostTime = coverage.opaque.reduce((sum, one) => sum + (one.on_host_because ? one.seconds : 0), 0);
  const opaqueTime = coverage.opaque.reduce((sum, one) => sum + one.seconds, 0) - hostTime;
  if (!coverage.opaque.length) {
    note.textContent = `Nothing: all ${plural(coverage.operators, "operator")} are understood${
        report.in_runtime ? "" : ", and all of them run on the GPU"}.`;
    return;
  }
  note.textContent = `${whole(coverage.understood)} of ${
                         plural(coverage.operators, "operator")} are understood. No rule can change the others; ` +
      `they stay as they are${hostTime > 0 ? ", and those without a kernel run on the host" : ""}.`;
  if (coverage.seconds > 0) {
    const known = Math.max(0, coverage.seconds - hostTime - opaqueTime);
    const parts = [
      ["understood", known, "--made"],
      [report.in_runtime ? "not understood" : "not understood, on the GPU", opaqueTime, "--opaque"],
      ["on the host", hostTime, "--host"]
    ].filter(([, part]) => part > 0);
    byId("opaque-bar")
        .append(
            el("div", {class: "stack"},
               ...parts.map(
                   ([name, part, colour]) =>
                       el("div",
                          {style: `width:${100 * part / coverage.seconds}%;background:var(${colour})`, title: name}))),
            el("p", {class: "legend"},
               ...parts.map(
                   ([name, part, colour]) =>
                       el("span", {}, el("span", {class: "swatch", style: `background:var(${colour})`}),
                          `${name}: ${time(part)}, ${percent(part / coverage.seconds)}`))));
  }
  const rows = coverage.opaque.map(
      (one) => ({
        cells: [one.operator, whole(one.count), time(one.seconds), runsOn(one), one.reason, places(one.at, one.count)]
      }));
  byId("opaque-table")
      .append(table(["operator", "count", "time", "runs on", "why", "results"], rows, [1, 2], "opaque"));
}

function runsOn(opaque) {
  if (opaque.on_host_because) return el("span", {class: "bad"}, `host: ${opaque.on_host_because}`);
  if (report.in_runtime) return "ONNX Runtime";
  return opaque.seconds > 0 ? "GPU" : "GPU, within other kernels";
}

function places(names, count) {
  const shown = names.slice(0, 3).flatMap(
      (name,
       i) => [i ? ", " : "", el("button", {class: "link", onclick: () => openValue(name)}, el("code", {}, name))]);
  return el("span", {}, ...shown, count > 3 ? ` and ${whole(count - 3)} more` : "");
}

function fillRefusals() {
  const search = report.search, box = byId("refusals");
  const say = (text) => box.append(el("p", {class: "note"}, text));
  if (!search) {
    say("Nothing was tried.");
    return;
  }
  const list = (applied) => applied
                                .map(
                                    (one) => `${one.rule} (${plural(one.count, "time")}, ${
                                        one.saved < 0 ? "costing" : "saving"} ${cost(Math.abs(one.saved))})`)
                                .join("; ");
  if (search.note)
    say(`A result was discarded: ${search.note}.${
        search.given_up.length ? ` It had used ${list(search.given_up)}.` : ""}`);
  if (search.left_out.length)
    say(`Left out, because the check objected (${search.objection}): ${search.left_out.join(", ")}.`);
  if (search.unconfirmed) say(`Not confirmed on the GPU: ${search.unconfirmed}.`);
  if (search.float.rules_left_out)
    say(`Rules that --float ${search.float.mode} does not admit: ${whole(search.float.rules_left_out)}.`);
  say(`A result must save at least ${search.min_gain_percent || 0} %, and may enlarge the weights by at most ${
      search.max_growth_percent} %.`);
  const used = new Set(search.applied.map((one) => one.rule));
  const trials = search.trials.filter((one) => !used.has(one.rule)).sort((a, b) => b.saved - a.saved);
  if (!trials.length) {
    say("No other rule applied anywhere.");
    return;
  }
  say(`${plural(trials.length, "rule")} applied somewhere and ${
      trials.length === 1 ?
          "is" :
          "are"} not part of the result: a single step would have saved nothing or too little, or another was better.`);
  const rows = trials.map((one) => ({
                            cells: [
                              el("code", {}, one.rule), whole(one.matched),
                              Math.abs(one.saved) < 1e-12 ? "nothing" :
                                  one.saved > 0           ? `saves ${cost(one.saved)}` :
                                                            `costs ${cost(-one.saved)}`
                            ]
                          }));
  const shown = table(["rule", "places", "the best single step"], rows, [1, 2]);
  box.append(trials.length > 8 ? el("details", {}, el("summary", {}, "Show them"), shown) : shown);
}

function fillFacts() {
  const rows = [
    ["input", el("code", {}, report.input)], ["output", report.output ? el("code", {}, report.output) : "none"],
    ["certificate", report.certificate ? el("code", {}, report.certificate) : "none"], ["prices", report.prices],
    [
      "clean-ups",
      Object.entries(report.passes)
              .filter(([, count]) => count)
              .map(([name, count]) => `${name} ${whole(count)}`)
              .join(", ") ||
          "none"
    ],
    ["time", Object.entries(report.seconds).map(([name, seconds]) => `${name} ${seconds.toFixed(2)} s`).join(", ")]
  ];
  if (report.search)
    rows.push(["rule set", el("code", {}, report.search.rules_hash)], ["objective", report.search.objective]);
  if (report.check)
    rows.push(["check", `${plural(report.check.samples, "set")} of random inputs, seed ${report.check.seed}`]);
  byId("facts").append(el("div", {class: "panel"}, definitions(rows)));
}

fillHeader();
fillFigures();
fillChanges();
fillTimeline();
fillSearch();
fillOpaque();
fillRefusals();
fillFacts();
