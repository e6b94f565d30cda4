"use strict";
// The graph on a canvas. The list of the page holds the same for those who do not use it.
{
  const { html } = cstp;
  const { useEffect, useLayoutEffect, useRef } = cstp.hooks;
  const { KINDS, cut } = cstp.graph;

  const SHAPES = {
    decision: "round-rectangle", event: "diamond", artifact: "rectangle", turn: "round-tag", conversation: "barrel",
    chunk: "cut-rectangle", name: "ellipse",
  };
  const FILLS = {
    decision: "series-1", event: "series-3", artifact: "series-2", turn: "series-2", conversation: "series-2",
    chunk: "series-2", name: "control",
  };
  const PAST = ["superseded", "deprecated", "rejected", "abandoned"];
  const OPEN = ["proposed", "pending", "draft"];

  /** How the status of a node looks: current ones are filled, open ones dashed, past ones hollow. */
  const stateOf = ({ status, stub }) => (PAST.includes(status) ? "past" : OPEN.includes(status) || stub ? "open" : "current");

  function styles(look) {
    const node = {
      selector: "node",
      style: {
        width: "data(size)", height: "data(size)", shape: "data(shape)", label: "data(label)",
        "background-color": (one) => look[one.data("fill")], "border-width": 2, "border-color": (one) => look[one.data("fill")],
        "font-family": "system-ui, sans-serif", "font-size": 11, color: look.text, "text-valign": "bottom", "text-margin-y": 4,
        "text-wrap": "wrap", "text-max-width": "116px", "line-height": 1.2, "text-outline-width": 2, "text-outline-color": look.surface,
        "overlay-opacity": 0,
      },
    };
    const ofKinds = Object.entries(KINDS).map(([kind, { colour, dash, end }]) => ({
      selector: `edge[kind = "${kind}"]`,
      style: {
        "line-color": look[colour], "target-arrow-color": look[colour], "target-arrow-shape": end,
        "line-style": dash.length ? "dashed" : "solid", "line-dash-pattern": dash.length ? dash : [1, 0],
      },
    }));
    return [
      node,
      { selector: 'node[state = "open"]', style: { "background-color": look.surface, "border-style": "dashed" } },
      {
        selector: 'node[state = "past"]',
        style: {
          "background-color": look.raised, "border-color": look.muted, "border-style": "double", "border-width": 4, color: look.muted,
        },
      },
      { selector: 'node[kind = "decision"]', style: { width: (one) => one.data("size") * 1.5 } },
      { selector: "edge", style: { width: 1.8, "curve-style": "bezier", "arrow-scale": 0.9, "overlay-opacity": 0 } },
      ...ofKinds,
      { selector: ".far", style: { opacity: 0.25 } },
      { selector: "node.short", style: { label: "data(short)" } },
      { selector: "node.quiet", style: { "text-opacity": 0 } },
      { selector: "node.centre", style: { "font-weight": "bold", "font-size": 13 } },
      { selector: "node.over", style: { label: "data(label)", "text-opacity": 1, "z-index": 10 } },
      { selector: "node.chosen", style: { "outline-width": 3, "outline-color": look.accent, "outline-offset": 4, "z-index": 9 } },
      { selector: "edge.chosen", style: { width: 3 } },
    ];
  }

  const elementOf = (node, centre, scale) => ({
    group: "nodes",
    data: {
      id: node.key, label: cut(node.title, 44), short: cut(node.title, 17), kind: node.type, shape: SHAPES[node.type], fill: FILLS[node.type],
      state: stateOf(node), size: scale * (node.key === centre ? 32 : Math.min(28, 17 + node.degree)),
    },
    classes: node.key === centre ? "centre" : "",
  });

  const edgeOf = (link) => ({ group: "edges", data: { id: link.key, source: link.from, target: link.to, kind: link.kind } });

  /** Where a new node begins: near one that it is linked to and that has a place, else on rings around the centre. */
  function places(canvas, nodes, links) {
    const found = new Map();
    const turn = Math.PI * (3 - Math.sqrt(5)); // of a sunflower: even, and the same at each visit
    nodes.forEach((node, index) => {
      const known = canvas.getElementById(node.key);
      if (known.nonempty()) {
        found.set(node.key, { ...known.position() });
        return;
      }
      const link = links.find(({ from, to }) => (from === node.key && found.has(to)) || (to === node.key && found.has(from)));
      const near = link && found.get(link.from === node.key ? link.to : link.from);
      const reach = near ? 60 : 70 * Math.sqrt(index);
      const angle = index * turn;
      found.set(node.key, { x: (near?.x ?? 0) + reach * Math.cos(angle), y: (near?.y ?? 0) + reach * Math.sin(angle) });
    });
    return found;
  }

  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  /** Puts what is new on the canvas, takes off what is gone, and arranges it. */
  function follow(canvas, { nodes, links }, centre) {
    const first = canvas.elements().empty();
    const wanted = new Set([...nodes, ...links].map((one) => one.key));
    const at = places(canvas, nodes, links);
    const scale = Math.min(1, Math.max(0.55, Math.sqrt((canvas.width() * canvas.height()) / nodes.length) / 110));
    let changed = first;
    canvas.batch(() => {
      const gone = canvas.elements().filter((one) => !wanted.has(one.id()));
      changed ||= gone.nonempty();
      gone.remove();
      for (const one of nodes) {
        const known = canvas.getElementById(one.key);
        const element = elementOf(one, centre, scale);
        if (known.nonempty()) known.data(element.data);
        else canvas.add({ ...element, position: at.get(one.key) });
        changed ||= known.empty();
      }
      for (const one of links) {
        if (canvas.getElementById(one.key).nonempty()) continue;
        canvas.add(edgeOf(one));
        changed = true;
      }
    });
    if (changed) arrange(canvas, first || still());
  }

  /**
   * Positions that fill the canvas at its own scale, so that texts keep their size; a small graph stays close. Half of
   * a place is by its rank, which spreads what is crowded.
   */
  function filling(canvas, positions) {
    const root = Math.sqrt(positions.size);
    const axis = (name, from, to, spacing) => {
      const order = [...positions].sort(([, a], [, b]) => a[name] - b[name]).map(([key, at]) => [key, at[name]]);
      const [low, high] = [order[0][1], order.at(-1)[1]];
      const room = Math.min(to - from, spacing * root);
      const share = (value, rank) => (high - low < 1 ? 0.5 : ((value - low) / (high - low) + rank / (order.length - 1)) / 2);
      return new Map(order.map(([key, value], rank) => [key, (from + to) / 2 + (share(value, rank) - 0.5) * room]));
    };
    const [x, y] = [axis("x", 64, canvas.width() - 64, 220), axis("y", 28, canvas.height() - 52, 130)];
    return new Map([...positions.keys()].map((key) => [key, { x: x.get(key), y: y.get(key) }]));
  }

  function arrange(canvas, atOnce) {
    const before = new Map(canvas.nodes().map((one) => [one.id(), { ...one.position() }]));
    canvas.layout({
      name: "cose", randomize: false, animate: false, fit: false, nodeRepulsion: () => 20000, idealEdgeLength: () => 70,
      nodeOverlap: 24, componentSpacing: 60, gravity: 0.6, numIter: 700,
    }).run();
    const after = filling(canvas, new Map(canvas.nodes().map((one) => [one.id(), { ...one.position() }])));
    canvas.nodes().positions((one) => before.get(one.id()));
    canvas.viewport({ zoom: 1, pan: { x: 0, y: 0 } });
    canvas.layout({ name: "preset", positions: (one) => after.get(one.id()), fit: false, animate: !atOnce, animationDuration: 250 }).run();
  }

  const apart = (one, other) => one.x2 <= other.x1 || other.x2 <= one.x1 || one.y2 <= other.y1 || other.y2 <= one.y1;

  /** Keeps texts at their size at any zoom, and hides those that would cover another one or a node. */
  function label(canvas) {
    const zoom = canvas.zoom();
    const size = (one) => (one.hasClass("centre") ? 13 : 11.5) / zoom;
    canvas.nodes().removeClass("quiet short");
    canvas.batch(() => canvas.nodes().forEach((one) => one.style({
      "font-size": size(one), "text-max-width": `${116 / zoom}px`, "text-margin-y": 4 / zoom, "text-outline-width": 2 / zoom,
    })));
    const of = (one, labels) => one.boundingBox({ includeNodes: !labels, includeLabels: labels, includeEdges: false, includeOverlays: false });
    const taken = canvas.nodes().map((one) => ({ id: one.id(), ...of(one, false) }));
    const rank = (one) =>
      ["chosen", "centre"].filter((name) => one.hasClass(name)).length * 2000 + (one.hasClass("far") ? 0 : 1000) + one.data("size");
    const quiet = [];
    const free = (one, box) => one.hasClass("chosen") || taken.every((other) => other.id === one.id() || apart(box, other));
    for (const one of canvas.nodes().sort((a, b) => rank(b) - rank(a))) {
      const fits = [false, true].some((short) => {
        one.toggleClass("short", short);
        const box = of(one, true);
        return free(one, box) && taken.push({ id: one.id(), ...box });
      });
      if (!fits) quiet.push(one);
    }
    canvas.batch(() => quiet.forEach((one) => one.addClass("quiet")));
  }

  /** Labels once for each frame in which something moved. */
  function keepLabelled(canvas) {
    let waiting = null;
    const soon = () => {
      waiting ??= requestAnimationFrame(() => {
        waiting = null;
        if (!canvas.destroyed()) label(canvas);
      });
    };
    canvas.on("zoom resize layoutstop", soon);
    canvas.on("dragfree", "node", soon);
    return soon;
  }

  function choose(canvas, chosen) {
    canvas.batch(() => {
      canvas.elements().removeClass("chosen far");
      const node = chosen === null ? canvas.collection() : canvas.getElementById(chosen);
      if (node.empty()) return;
      canvas.elements().not(node.closedNeighborhood()).addClass("far");
      node.addClass("chosen");
      node.connectedEdges().addClass("chosen");
    });
  }

  /** The wheel scrolls the page, and with Ctrl or two fingers it zooms the graph. */
  function wheelZooms(place, canvas) {
    const look = (event) => canvas.userZoomingEnabled(event.type !== "wheel" || event.ctrlKey || event.metaKey);
    for (const type of ["wheel", "touchstart"]) place.addEventListener(type, look, { capture: true, passive: true });
  }

  /** `act` has choose(key), pick(key) to focus its row as well, expand(key) and open(key). `model` is what `cstp.graph.shownOf` gives. */
  function Canvas({ model, centre, chosen, act }) {
    const library = cstp.useLibrary("cytoscape.js");
    const look = cstp.useColours();
    const [place, canvas, labels, acts] = [useRef(null), useRef(null), useRef(null), useRef(act)];
    acts.current = act;
    useLayoutEffect(() => {
      if (!library.ready) return undefined;
      const made = cytoscape({
        container: place.current, elements: [], style: styles(look), minZoom: 0.15, maxZoom: 3, boxSelectionEnabled: false,
        autounselectify: true,
      });
      made.on("tap", "node", ({ target }) => acts.current.pick(target.id()));
      made.on("onetap", "node", ({ target }) => acts.current.expand(target.id()));
      made.on("dbltap", "node", ({ target }) => acts.current.open(target.id()));
      made.on("tap", ({ target }) => target === made && acts.current.choose(null));
      made.on("mouseover mouseout", "node", ({ type, target }) => {
        target.toggleClass("over", type === "mouseover");
        place.current.classList.toggle("over-node", type === "mouseover");
      });
      labels.current = keepLabelled(made);
      wheelZooms(place.current, made);
      canvas.current = made;
      return () => made.destroy();
    }, [library.ready]);
    useEffect(() => {
      if (!canvas.current) return;
      canvas.current.style(styles(look));
      labels.current();
    }, [look, library.ready]);
    useEffect(() => {
      if (!canvas.current) return;
      follow(canvas.current, model, centre);
      choose(canvas.current, chosen);
      labels.current();
    }, [model, library.ready]);
    useEffect(() => {
      if (!canvas.current) return;
      choose(canvas.current, chosen);
      labels.current();
    }, [chosen]);
    if (library.error) return html`<${cstp.Failure} error=${library.error} />`;
    const zoom = (factor) => () => canvas.current?.zoom({
      level: canvas.current.zoom() * factor,
      renderedPosition: { x: canvas.current.width() / 2, y: canvas.current.height() / 2 },
    });
    const name = `${cstp.plural(model.nodes.length, "record")} and ${cstp.plural(model.links.length, "link")}; the list has them as text.`;
    return html`<div class="graph-canvas card">
        <div class="graph-place" role="img" aria-label=${name} ref=${place}></div>
      </div>
      <div class="graph-foot">
        <${Shapes} nodes=${model.nodes} />
        <div class="actions" role="group" aria-label="The drawing">
          <button type="button" class="small" aria-label="Larger" title="Larger; also Ctrl and the wheel" onClick=${zoom(1.3)}>+</button>
          <button type="button" class="small" aria-label="Smaller" title="Smaller; also Ctrl and the wheel" onClick=${zoom(1 / 1.3)}>−</button>
          <button type="button" class="small" onClick=${() => canvas.current?.fit(undefined, 20)}>Fit</button>
        </div>
      </div>`;
  }

  const ENDS = {
    triangle: "M26 2 34 6 26 10Z", vee: "M26 2 34 6 26 10 28 6Z", tee: "M31 1V11H33V1Z", circle: "M34 6a4 4 0 1 1-8 0a4 4 0 1 1 8 0Z",
    square: "M27 3H34V9H27Z", diamond: "M25 6 30 2 35 6 30 10Z", none: "",
  };

  /** A line as it looks on the canvas. */
  function Line({ kind }) {
    const { colour, dash, end } = KINDS[kind];
    return html`<svg class=${`line ${colour}`} viewBox="0 0 36 12" width="36" height="12" aria-hidden="true">
      <line x1="1" y1="6" x2=${end === "none" ? 35 : 27} y2="6" stroke-width="2" stroke-dasharray=${dash.join(" ") || null} />
      <path d=${ENDS[end]} />
    </svg>`;
  }

  const FORMS = {
    decision: "M2 3h14v10H2Z", event: "M9 1 17 8 9 15 1 8Z", artifact: "M3 2h12v12H3Z", turn: "M2 3h10l5 5-5 5H2Z",
    conversation: "M2 4q7-4 14 0v8q-7 4-14 0Z", chunk: "M5 2h8l3 3v6l-3 3H5l-3-3V5Z", name: "M16 8a7 7 0 1 1-14 0a7 7 0 1 1 14 0Z",
  };

  /** The shape of a node as it looks on the canvas. */
  function Shape({ type, state = "current" }) {
    return html`<svg class=${`shape ${FILLS[type]} ${state}`} viewBox="0 0 18 16" width="18" height="16" aria-hidden="true">
      <path d=${FORMS[type]} />
    </svg>`;
  }

  const WORDS = {
    decision: "decision", event: "event", artifact: "document", turn: "turn", conversation: "conversation", chunk: "passage", name: "name",
  };
  const STATES = { open: "proposed, pending or not read yet", past: "superseded, deprecated or rejected" };

  /** What the shapes say, those that are shown. */
  function Shapes({ nodes }) {
    const types = [...new Set(nodes.map((node) => node.type))];
    const states = Object.keys(STATES).filter((state) => nodes.some((node) => stateOf(node) === state));
    return html`<p class="shapes">
      ${types.map((type) => html`<span key=${type}><${Shape} type=${type} /> ${WORDS[type]}</span>`)}
      ${states.map((state) => html`<span key=${state}><${Shape} type="decision" state=${state} /> ${STATES[state]}</span>`)}
    </p>`;
  }

  /** What a node is, in a word. */
  const wordOf = ({ type, word }) => word ?? WORDS[type];

  Object.assign(cstp.graph, { Canvas, Line, Shape, stateOf, wordOf });
}
