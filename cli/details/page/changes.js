// The two graphs side by side: the changed regions with their surroundings, or the whole model with unchanged parts
// collapsed; and what is known about the node that is clicked.
"use strict";

const windows = {};
const producers = {};
const users = {};
const expanded = {
  before: new Set(),
  after: new Set()
};
const FEW_NODES = 60;       // a model with no more is shown whole
const REGIONS_WIDTH = 268;  // of the list of changes, with its gap, in pixels
const view = {
  mode: "regions",
  region: -1
};

const nodeTitle = (node) =>
    node.name && node.name.length < 60 ? `${node.op} ${node.name}` : `${node.op} ${node.outputs[0] || ""}`;
// "1×128×768" for "float32[1, 128, 768]"; sizes that nobody has named are "?".
const shapeOf = (type) => (type || "")
                              .replace(/^[a-z0-9_]+/, "")
                              .replace(/^\[|\]$/g, "")
                              .replace(/"[^"]*#[^"]*"/g, "?")
                              .replace(/"/g, "")
                              .replace(/, /g, "×");
const shorten = (text, most) => text.length > most ? `${text.slice(0, most - 1)}…` : text;

function indexModel(which) {
  const model = details[which], made = new Map(), used = new Map();
  model.nodes.forEach((node, i) => node.outputs.forEach((name) => {
    if (name) made.set(name, i);
  }));
  model.nodes.forEach((node, i) => node.inputs.forEach((name) => {
    if (name) (used.get(name) || used.set(name, []).get(name)).push(i);
  }));
  producers[which] = made;
  users[which] = used;
}

// The nodes one step away in either direction, without weights.
function neighbours(which, index) {
  const model = details[which], node = model.nodes[index], near = [];
  for (const name of node.inputs)
    if (producers[which].has(name)) near.push(producers[which].get(name));
  for (const name of node.outputs) near.push(...(users[which].get(name) || []));
  return near.filter((other) => !model.nodes[other].constant);
}

function itemOf(which, index, isAround) {
  const model = details[which], node = model.nodes[index], op = shorten(node.op.split(".").pop(), 24);
  const shape = shorten(shapeOf(model.types[node.outputs.find((name) => name)]), 26);
  const isOnHost = node.kernels.some((kernel) => model.kernels[kernel].on_host_because);
  // A kernel of several operators has its price at the first.
  const seconds = node.kernels.reduce((sum, kernel) => {
    return sum + (model.kernels[kernel].nodes[0] === index ? model.kernels[kernel].seconds : 0);
  }, 0);
  const lines = [{text: op, kind: "", width: op.length * 8.2 + 22}];
  if (shape) lines.push({text: shape, kind: "shape", width: shape.length * 7.1 + 18});
  if (seconds > 0) lines.push({text: time(seconds), kind: "price", width: 60});
  return {key: index, ...sized(lines), style: `${node.fate}${isAround ? " around" : ""}${isOnHost ? " host" : ""}`};
}

// Lines of text, and the size of a box around them.
function sized(lines) {
  return {lines, width: Math.max(64, ...lines.map((line) => line.width)), height: 14 + 15 * lines.length};
}

function labelled(text, below) {
  const lines = [{text, kind: "", width: text.length * 7.9 + 22}];
  if (below) lines.push({text: below, kind: "shape", width: below.length * 7.1 + 18});
  return sized(lines);
}

// Items and edges for a set of nodes, with the inputs of the graph that they use. `blockOf` gives the collapsed block
// of a node that is not shown by itself.
function picture(which, shown, around, blockOf) {
  const model = details[which], items = [], edges = [], place = new Map(), seen = new Set();
  const graphInputs = new Set(model.inputs);
  const order = [...shown].sort((a, b) => a - b);
  const add = (key, item) => {
    place.set(key, items.length);
    items.push(item);
  };
  const link = (from, to) => {
    const key = from * 1e6 + to;
    if (from !== to && !seen.has(key)) {
      seen.add(key);
      edges.push([from, to]);
    }
  };
  const visit = (index, target) => {
    for (const name of model.nodes[index].inputs) {
      if (graphInputs.has(name) && !producers[which].has(name)) {
        if (!place.has(`input ${name}`)) continue;
        link(place.get(`input ${name}`), target());
        continue;
      }
      const from = producers[which].get(name);
      if (from === undefined || model.nodes[from].constant) continue;
      const start = place.get(shown.has(from) ? from : blockOf && blockOf.get(from));
      if (start !== undefined) link(start, target());
    }
  };
  const wanted = new Set();
  for (const index of blockOf ? model.nodes.keys() : order)
    if (blockOf || !around.has(index))
      for (const name of model.nodes[index].inputs)
        if (graphInputs.has(name) && !producers[which].has(name)) wanted.add(name);
  for (const name of model.inputs) {
    if (!wanted.has(name)) continue;
    const label = labelled(shorten(name, 26), shorten(shapeOf(model.types[name]), 26));
    add(`input ${name}`, {key: `input ${name}`, ...label, style: "input", input: name});
  }
  if (!blockOf) {
    for (const index of order) {
      add(index, itemOf(which, index, around.has(index)));
      visit(index, () => place.get(index));
    }
  } else {
    // Blocks stand where their first node does. An edge into a block may come from an item that follows, so items are
    // placed first, and sorted by depth, along which all edges lead down.
    const entries = [...order.map((index) => [index, blockOf.depth[index]])];
    for (const [block, members] of blockOf.members) entries.push([block, blockOf.depth[members[0]] - 0.5]);
    entries.sort((a, b) => a[1] - b[1] || String(a[0]).localeCompare(String(b[0]), "en", {numeric: true}));
    for (const [key] of entries) {
      if (typeof key === "number") {
        add(key, itemOf(which, key, around.has(key)));
        continue;
      }
      const members = blockOf.members.get(key), label = labelled(plural(members.length, "operator"), "unchanged");
      add(key, {key, ...label, style: "block", block: members});
    }
    for (const index of order) visit(index, () => place.get(index));
    for (const [block, members] of blockOf.members)
      for (const index of members) visit(index, () => place.get(block));
  }
  return [items, topologically(items, edges)];
}

// Renumbers the items so that edges lead from lower to higher numbers.
function topologically(items, edges) {
  const next = items.map(() => []), missing = items.map(() => 0), ready = [], order = [];
  for (const [from, to] of edges) {
    next[from].push(to);
    ++missing[to];
  }
  items.forEach((_, i) => {
    if (!missing[i]) ready.push(i);
  });
  for (let head = 0; head < ready.length; ++head) {
    order.push(ready[head]);
    for (const to of next[ready[head]])
      if (--missing[to] === 0) ready.push(to);
  }
  const number = new Map(order.map((item, i) => [item, i]));
  const sorted = order.map((item) => items[item]);
  items.splice(0, items.length, ...sorted);
  return edges.filter(([from, to]) => number.has(from) && number.has(to)).map(([
                                                                                from, to
                                                                              ]) => [number.get(from), number.get(to)]);
}

function regionPicture(which, region) {
  const inside = region[which].filter((index) => !details[which].nodes[index].constant), shown = new Set(inside),
        around = new Set();
  let starts = inside;
  if (!inside.length) {  // everything is gone here: show what is around it in the other graph
    const other = which === "before" ? "after" : "before", names = new Set();
    for (const index of region[other])
      for (const name of [...details[other].nodes[index].inputs, ...details[other].nodes[index].outputs])
        names.add(name);
    for (const name of names) {
      if (producers[which].has(name)) around.add(producers[which].get(name));
      for (const user of users[which].get(name) || []) around.add(user);
    }
  }
  for (const index of starts)
    for (const near of neighbours(which, index))
      if (!shown.has(near)) around.add(near);
  const limited =
      [...around].filter((index) => !details[which].nodes[index].constant).sort((a, b) => a - b).slice(0, 60);
  for (const index of limited) shown.add(index);
  return picture(which, shown, new Set(limited));
}

// Collapses nodes that are neither changed nor next to a change. The nodes of a block have the same number of shown
// nodes on the longest way to them: then no way leaves a block and comes back, and the picture has no cycles.
function wholePicture(which) {
  const model = details[which], shown = new Set(), around = new Set();
  const isChanged = (node) => node.fate !== "same" && !node.constant;
  model.nodes.forEach((node, i) => {
    if (isChanged(node)) shown.add(i);
  });
  for (const index of [...shown])
    for (const near of neighbours(which, index))
      if (!shown.has(near)) around.add(near);
  for (const index of around) shown.add(index);
  for (const index of expanded[which]) shown.add(index);
  if (model.nodes.length <= FEW_NODES) model.nodes.forEach((node, i) => node.constant || shown.add(i));
  const depth = [], parent = model.nodes.map((_, i) => i);
  const find = (i) => {
    while (parent[i] !== i) i = parent[i] = parent[parent[i]];
    return i;
  };
  model.nodes.forEach((node, i) => {
    depth[i] = 0;
    for (const name of node.inputs) {
      const from = producers[which].get(name);
      if (from !== undefined && from < i) depth[i] = Math.max(depth[i], depth[from] + (shown.has(from) ? 1 : 0));
    }
    if (shown.has(i) || node.constant) return;
    for (const name of node.inputs) {
      const from = producers[which].get(name);
      if (from !== undefined && from < i && !shown.has(from) && !model.nodes[from].constant && depth[from] === depth[i])
        parent[find(i)] = find(from);
    }
  });
  const blockOf = new Map(), members = new Map();
  model.nodes.forEach((node, i) => {
    if (shown.has(i) || node.constant) return;
    const block = `block ${find(i)}`;
    blockOf.set(i, block);
    (members.get(block) || members.set(block, []).get(block)).push(i);
  });
  for (const [block, list] of members) {  // a single operator is not worth a block
    if (list.length > 1) continue;
    shown.add(list[0]);
    blockOf.delete(list[0]);
    members.delete(block);
  }
  blockOf.members = members;
  blockOf.depth = depth;
  return picture(which, shown, new Set(), blockOf);
}

function show() {
  byId("workbench").classList.toggle("whole", view.mode === "whole");
  for (const tab of byId("views").children) tab.setAttribute("aria-selected", String(tab.dataset.mode === view.mode));
  for (const card of byId("regions").children)
    card.setAttribute("aria-selected", String(Number(card.dataset.region) === view.region));
  for (const which of ["before", "after"]) {
    const [items, edges] =
        view.mode === "whole" ? wholePicture(which) : regionPicture(which, details.regions[view.region]);
    windows[which].show(items, edges);
  }
  // Graphs that are wider than half the page stand one below the other.
  const isSingle = byId("workbench").classList.contains("single");
  const room = byId("workbench").clientWidth - (view.mode === "whole" ? 0 : REGIONS_WIDTH);
  const widest = Math.max(...["before", "after"].map((which) => windows[which].laid.width));
  const isStacked = !isSingle && widest * 0.75 > room / 2;
  byId("workbench").classList.toggle("stacked", isStacked);
  // Both have one scale; side by side they are as high as the higher one needs, within limits.
  for (const which of ["before", "after"]) windows[which].fit();
  const scale = Math.min(...["before", "after"].map((which) => windows[which].scale));
  const highest = Math.max(...["before", "after"].map((which) => windows[which].laid.height));
  for (const which of ["before", "after"]) {
    const height = (isStacked ? windows[which].laid.height : highest) * scale + 30;
    byId(`graph-${which}`).style.height = `${Math.min(Math.max(height, 160), view.mode === "whole" ? 640 : 560)}px`;
    if (!isSingle) windows[which].fit(scale);
    windows[which].draw();
  }
  byId("rules-here").replaceChildren(...(view.mode === "regions" ? rulesOf(details.regions[view.region]) : []));
}

function fillChanges() {
  if (!details) {
    byId("changes-note").textContent = "The graphs are not known, because the model cannot be imported.";
    for (const id of ["workbench", "views", "graph-legend"]) byId(id).remove();
    return;
  }
  for (const which of ["before", "after"]) {
    indexModel(which);
    windows[which] = new GraphWindow(
        byId(`graph-${which}`), byId(`zoom-${which}`),
        {choose: (item) => choose(which, item), tell: (item) => tipOf(which, item)});
  }
  const kinds = details.regions.filter((region, i) => region.like === i);
  const groups = new Map();
  for (const region of details.regions)
    (groups.get(region.like) || groups.set(region.like, []).get(region.like)).push(region);
  const found = `${plural(details.regions.length, "place")} changed in ${plural(kinds.length, "way")}.`;
  byId("changes-note").textContent = kinds.length ?
      `${found} Equal changes are listed once; what is around a change is pale. ` +
          "Click an operator for its shapes, attributes, price and rules." :
      "Nothing changed. The whole model is shown below, collapsed; click a block to open it.";
  details.regions.forEach((region, i) => {
    if (region.like !== i) return;
    const same = groups.get(i), saved = same.reduce((sum, one) => sum + one.saved, 0);
    byId("regions").append(
        el("button", {
          class: "region",
          role: "option",
          "data-region": i,
          onclick: () => {
            view.region = i;
            show();
            byId("panel").replaceChildren();
          }
        },
           same.length > 1 ? el("span", {class: "times"}, `×${same.length}`) : null, el("div", {}, summaryOf(region)),
           region.steps.length ?
               el("div", {class: "saved"}, saved >= 0 ? `saves ${cost(saved)}` : `costs ${cost(-saved)}`) :
               el("div", {class: "quiet"},
                  region.clean_ups.length ? `clean-up: ${region.clean_ups.join(", ")}` : "clean-up")));
  });
  const modes = kinds.length ? [["regions", "Changed parts"], ["whole", "Whole model"]] : [["whole", "Whole model"]];
  for (const [mode, name] of modes)
    byId("views").append(
        el("button", {
          role: "tab",
          "data-mode": mode,
          onclick: () => {
            view.mode = mode;
            for (const which of ["before", "after"]) expanded[which].clear();  // the tab closes all blocks again
            show();
          }
        },
           name));
  fillLegend();
  byId("workbench").classList.toggle("single", !kinds.length);
  if (!kinds.length) byId("zoom-before").previousSibling.textContent = "The model as read ";
  view.region = details.regions.length ? 0 : -1;
  view.mode = modes[0][0];
  show();
}

// Explains the colours that occur.
function fillLegend() {
  const sides = [details.before, details.after];
  const swatch = (name, fill, line, dash) =>
      byId("graph-legend")
          .append(
              el("span", {},
                 el("span",
                    {class: "swatch", style: `background:var(${fill});border:1px ${dash || "solid"} var(${line})`}),
                 name));
  const isThere = (fate) => sides.some((side) => side.nodes.some((node) => node.fate === fate && !node.constant));
  if (isThere("replaced")) swatch("replaced", "--gone-fill", "--gone");
  if (isThere("cleaned")) swatch("removed by a clean-up", "--gone-fill", "--gone", "dashed");
  if (isThere("made")) swatch("new", "--made-fill", "--made");
  if (isThere("rewired")) swatch("same operator, other operands", "--moved-fill", "--moved");
  if (isThere("same")) swatch("unchanged", "--same-fill", "--line");
  if (sides.some((side) => side.kernels.some((kernel) => kernel.on_host_because)))
    swatch("on the host", "--paper", "--host");
}

function summaryOf(region) {
  const count = (which) => {
    const counts = new Map();
    for (const index of region[which]) {
      const node = details[which].nodes[index];
      if (node.fate !== "rewired") counts.set(node.op, (counts.get(node.op) || 0) + 1);
    }
    return [...counts]
               .sort((a, b) => b[1] - a[1])
               .slice(0, 4)
               .map(([op, number]) => number > 1 ? `${number} ${op}` : op)
               .join(", ") +
        (counts.size > 4 ? ", …" : "");
  };
  return `${count("before") || "nothing"} → ${count("after") || "nothing"}`;
}

function tipOf(which, item) {
  if (item.block) return "Unchanged operators. Click to open.";
  if (item.input !== undefined) return `${item.input}\n${details[which].types[item.input] || ""}`;
  const node = details[which].nodes[item.key], kernels = node.kernels.map((kernel) => details[which].kernels[kernel]);
  const price = kernels.length ? time(kernels.reduce((sum, kernel) => sum + kernel.seconds, 0)) :
      node.free                ? "no kernel of its own" :
                                 "";
  return [
    nodeTitle(node), ...node.outputs.filter((name) => name).map((name) => details[which].types[name] || ""), price
  ].filter((line) => line)
      .join("\n");
}

function choose(which, item) {
  if (item.block) {
    for (const index of item.block) expanded[which].add(index);
    hideTip();
    windows[which].show(...wholePicture(which));
    windows[which].mark(item.block[0], true);
    return;
  }
  if (item.input !== undefined) return;
  for (const each of ["before", "after"]) windows[each].mark(each === which ? item.key : null, false);
  byId("panel").replaceChildren(...nodePanel(which, item.key));
  const region = view.mode === "whole" && details.regions.find((one) => one[which].includes(item.key));
  if (view.mode === "whole") byId("rules-here").replaceChildren(...(region ? rulesOf(region) : []));
}

const FATES = {
  same: "unchanged",
  rewired: "the same operator with other operands",
  replaced: "replaced by the rewrites",
  cleaned: "removed by a clean-up",
  made: "new in the result"
};

function nodePanel(which, index) {
  const model = details[which], node = model.nodes[index];
  const value = (name) =>
      el("div", {}, el("code", {}, name || "(omitted)"), " ",
         el("span", {class: "quiet"},
            `${model.types[name] || ""}${
                name && !producers[which].has(name) && !model.inputs.includes(name) ? ", weight" : ""}`));
  const kernels = node.kernels.map((kernel) => model.kernels[kernel]);
  const prices = kernels.map(
      (kernel) =>
          el("div", {},
             `${kernelPrice(kernel)}: ${KINDS[kernel.kind] || kernel.kind}` +
                 (kernel.nodes.length > 1 ? `, one kernel with ${plural(kernel.nodes.length - 1, "other operator")}` :
                                            "")));
  const opaque =
      report.coverage && report.coverage.opaque.find((one) => node.outputs.some((name) => one.at.includes(name)));
  const steps =
      details.steps.filter((step) => step.replaced.some((name) => name !== null && node.outputs.includes(name)));
  return [
    el("h3", {}, `${which === "before" ? "Before" : "After"}: ${nodeTitle(node)}`), definitions([
      ["in this run", FATES[node.fate] || node.fate], ["operands", ...node.inputs.map(value)],
      ["results", ...node.outputs.map(value)],
      [
        "attributes",
        ...Object.entries(node.attributes).map(([name, text]) => el("div", {}, el("code", {}, `${name} = ${text}`)))
      ],
      [
        "price",
        ...(prices.length ? prices :
                            [node.free ? "none: computed ahead of time, or another view of the same data" : ""])
      ],
      ["not understood", opaque ? opaque.reason : ""],
      [
        "rules",
        ...steps.slice(0, 6).map((step) => el("div", {}, el("code", {}, step.rule), ` saved ${cost(step.saved)}`))
      ]
    ])
  ];
}

const openNode = (which, index) => {
  const region = details.regions.findIndex((one) => one[which].includes(index));
  if (region >= 0) {
    view.mode = "regions";
    view.region = details.regions[region].like;
    show();
  } else {
    view.mode = "whole";
    expanded[which].add(index);
    show();
  }
  windows[which].mark(index, true);
  byId("panel").replaceChildren(...nodePanel(which, index));
  byId("changes").scrollIntoView();
};

function openValue(name) {
  if (details && producers.before.has(name)) openNode("before", producers.before.get(name));
}

function mathematics(rule, size) {
  return el(
      "div", {class: "math", style: size ? `font-size:${size};margin:0` : ""}, rule.source,
      el("span", {class: "arrow"}, "⇒"), rule.target);
}

// A condition in the rule's terms and, beside it, in the model's numbers.
function conditionChips(conditions) {
  return el("ul", {class: "chips"}, ...conditions.map((text) => {
    const at = text.indexOf(": "), rule = at < 0 ? text : text.slice(0, at);
    return el("li", {}, el("code", {}, rule), at < 0 ? null : el("code", {class: "here"}, text.slice(at + 2)));
  }));
}

// The rules of a region, each once: what it says, why it applies here, what its proof rests on.
function rulesOf(region) {
  const byRule = new Map();
  for (const index of region.steps) {
    const step = details.steps[index];
    (byRule.get(step.rule) || byRule.set(step.rule, []).get(step.rule)).push(step);
  }
  return [...byRule].map(([name, steps]) => {
    const rule = details.rules[name], first = steps[0], saved = steps.reduce((sum, step) => sum + step.saved, 0);
    const chips = (texts) => el("ul", {class: "chips"}, ...texts.map((text) => el("li", {}, el("code", {}, text))));
    const card =
        el("article", {class: "rule"},
           el("h3", {}, el("code", {}, name),
              el("span", {class: "quiet"},
                 `${plural(steps.length, "time")} here, ${
                     saved < 0 ? `costs ${cost(-saved)}` : `saves ${cost(saved)}`}`)));
    if (rule && rule.comments.length) card.append(el("p", {class: "note"}, rule.comments.join(" ")));
    if (rule) card.append(mathematics(rule));
    const bound = first.inputs.map(
        ([input, value]) => `${input}: ${
            value === null ? "made by an earlier step" : `${value} ${details.before.types[value] || ""}`}`);
    card.append(
        el("p", {class: "quiet"}, steps.length > 1 ? "In the first of these places:" : "In this place:"),
        chips([...bound, ...first.variables.map(([variable, value]) => `${variable} = ${value}`)]));
    if (first.conditions.length)
      card.append(
          el("p", {class: "quiet"},
             "It applies because these hold, here with the numbers of this model (x.1 is the size of x along axis 1):"),
          conditionChips(first.conditions));
    if (first.plain.length)
      card.append(
          el("details", {},
             el("summary", {},
                `${first.conditions.length ? "and " : ""}${plural(first.plain.length, "evident condition")}`),
             conditionChips(first.plain)));
    if (rule && rule.by.length)
      card.append(el("p", {class: "quiet"}, "Its proof rests on the properties"), chips(rule.by));
    else if (rule)
      card.append(el(
          "p", {class: "quiet"}, "It is proved for all shapes; taso-verify shows the properties that the proof uses."));
    if (rule) card.append(el("details", {}, el("summary", {}, "As in the rule file"), el("pre", {}, rule.text)));
    return card;
  });
}
