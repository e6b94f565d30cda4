"use strict";
// #/graph/ID: what is linked to a record; without an id, links of the newest records, and a search for one.
{
  const { html } = cstp;
  const { useEffect, useMemo, useRef, useState } = cstp.hooks;
  const { KINDS, SHOWN, Line, Shape, cut, stateOf, wordOf } = cstp.graph;

  const DEPTHS = [["1", "1 link"], ["2", "2 links"], ["3", "3 links"], ["4", "4 links"], ["5", "5 links"]];
  const DIRECTIONS = [["both", "all"], ["outgoing", "from it"], ["incoming", "to it"]];
  const SOUGHT = ["decision", "artifact", "turn", "event"];
  const list = (value) => [].concat(value ?? []).flatMap((one) => one.split(",")).filter(Boolean);

  /** What the address asks for, and what is wrong with it. */
  function asked(params) {
    const problems = [];
    const depth = params.depth ?? "2";
    if (!DEPTHS.some(([value]) => value === depth)) problems.push(`depth: ${depth} is none of 1 to 5`);
    const direction = params.direction ?? "both";
    if (!DIRECTIONS.some(([value]) => value === direction)) problems.push(`direction: ${direction} is none of both, outgoing, incoming`);
    const types = list(params.types);
    const strange = types.filter((one) => !(one in KINDS));
    if (strange.length) problems.push(`types: ${strange.join(", ")} is none of ${Object.keys(KINDS).join(", ")}`);
    const kinds = types.length ? types : Object.keys(KINDS);
    return { depth: Number(depth), direction, kinds, some: types.length > 0, open: [].concat(params.open ?? []), problems };
  }

  /** The page of a node: of its record, its conversation, or what is found by its name. */
  function addressOf(node) {
    if (node.type === "name") return cstp.address.to("search", { q: node.title });
    if (node.type === "conversation") return cstp.address.to(["conversation", node.id]);
    return cstp.address.recordAddress(node.type, node.id);
  }

  const graphOf = (node) => (node.type === "name" || node.type === "conversation" ? null : cstp.address.to(["graph", node.id]));

  /** The title of a search's result; that of a turn or an event only names its speaker or category. */
  const titleOf = ({ type, title, snippet }) => (["decision", "artifact"].includes(type) ? (title ?? snippet) : (snippet ?? title));

  /** Finds a record to look around, as one types. */
  function Finder({ query, type }) {
    const text = query.trim();
    const found = cstp.useCall("cstp.search", text ? { query: text, kinds: SOUGHT, limit: 8 } : null, { delay: 150 });
    const results = text ? (found.result?.results ?? []) : [];
    const down = (event) => {
      if (event.key === "ArrowDown" || event.key === "Enter") {
        event.preventDefault();
        event.stopPropagation(); // the keys of the page would go one further
        document.querySelector(".finder [data-row]")?.focus();
      }
    };
    return html`<div class="finder">
      <label for="graph-search">Find a record to look around</label>
      <input id="graph-search" type="search" autocomplete="off" spellcheck=${false} value=${query} onKeyDown=${down}
        placeholder="Words of a decision, a document, an event" onInput=${(event) => type(event.currentTarget.value)} />
      ${text && html`<div class="finder-found card" aria-live="polite">
        ${found.error && html`<${cstp.Failure} error=${found.error} again=${found.again} />`}
        ${!results.length && !found.error && html`<p class="hint">
          ${found.loading ? "Searching …" : "No record is found by these words."}
        </p>`}
        <ul>${results.map((one) => html`<li key=${one.id}>
          <${Shape} type=${one.type} />
          <a data-row href=${cstp.address.to(["graph", String(one.id)])}>${cut(titleOf(one), 90)}</a>
          <span class="muted">${wordOf(one)}</span>
        </li>`)}</ul>
      </div>`}
    </div>`;
  }

  /** The kinds of links: what their lines look like, how many there are, and which are shown. */
  function Legend({ links, wish, set }) {
    const counts = new Map();
    for (const { kind } of links) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    const known = Object.keys(KINDS).filter((kind) => counts.has(kind) || (wish.some && wish.kinds.includes(kind)));
    const on = known.filter((kind) => wish.kinds.includes(kind));
    const toggle = (kind) => {
      const next = known.filter((one) => (one === kind) !== on.includes(one));
      set(next.length === known.length ? [] : next);
    };
    return html`<div class="bar legend" role="group" aria-label="Kinds of links that are shown">
      ${known.map((kind) => {
        const shown = on.includes(kind);
        const last = shown && on.length === 1; // an address without types shows them all
        return html`<button type="button" class="key" key=${kind} aria-pressed=${shown ? "true" : "false"} disabled=${last}
          onClick=${() => toggle(kind)}>
          <${Line} kind=${kind} />${KINDS[kind].label} <span class="found">${cstp.count(counts.get(kind) ?? 0)}</span>
        </button>`;
      })}
      ${wish.some && html`<button type="button" class="small" onClick=${() => set([])}>Show all kinds</button>`}
    </div>`;
  }

  /** The links of a node, from its side: { kind, out, other, note }. */
  function linksOf(node, { links }, byKey) {
    return links
      .filter((one) => one.from === node.key || one.to === node.key)
      .map((one) => ({ ...one, out: one.from === node.key, other: byKey.get(one.from === node.key ? one.to : one.from) }));
  }

  const spelled = ({ kind, out }) => (out ? KINDS[kind].label : KINDS[kind].back);

  /** The node that was chosen. */
  function Panel({ node, model, byKey, act, opened, centre }) {
    if (!node) {
      return html`<section class="graph-panel card" aria-label="The chosen record">
        <p class="hint">Choose a record in the drawing or in the list. A click also shows what is around it; a double click
          or Enter opens its page.</p>
      </section>`;
    }
    const facts = [["Date", node.date && html`<${cstp.Time} at=${node.date} />`], ...node.facts];
    const links = linksOf(node, model, byKey);
    const own = graphOf(node);
    return html`<section class="graph-panel card" aria-label="The chosen record">
      <p class="meta"><${Shape} type=${node.type} state=${stateOf(node)} /> ${wordOf(node)}
        ${node.status && html` <${cstp.Pill} kind="status" value=${node.status} />`}</p>
      <h2><a href=${addressOf(node)}>${cut(node.title, 200)}</a></h2>
      <dl>${facts.filter(([, value]) => value || value === 0).map(
        ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
      )}</dl>
      <div class="actions">
        <button type="button" class="small" disabled=${opened.includes(node.key)} onClick=${() => act.expand(node.key)}>
          Show what is around it
        </button>
        ${own && node.key !== centre && html`<a href=${own}>Begin here</a>`}
      </div>
      <ul class="plain">${links.map((one) => html`<li key=${one.key}>
        <span class="muted"><${Line} kind=${one.kind} /> ${`${spelled(one)} `}</span>
        <button type="button" class="link" onClick=${() => act.choose(one.other.key)}>${cut(one.other.title, 80)}</button>
        ${one.note && html` <span class="muted">${cut(one.note, 120)}</span>`}
      </li>`)}</ul>
    </section>`;
  }

  /** The same nodes and links as text: rows for j and k, Enter opens one, e shows what is around it. */
  function AsList({ model, byKey, chosen, opened, act }) {
    const place = useRef(null);
    useEffect(() => {
      if (chosen === null) return;
      const row = [...place.current.querySelectorAll("[data-key]")].find((one) => one.dataset.key === chosen);
      if (row) place.current.scrollTop = row.offsetTop - place.current.clientHeight / 3;
    }, [chosen]);
    const about = (node) =>
      [wordOf(node), node.status, opened.includes(node.key) && "shown with what is around it"].filter(Boolean).join(", ");
    const press = (event, node) => {
      if (event.key !== "e" || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act.expand(node.key);
    };
    return html`<section class="graph-list-part" aria-labelledby="graph-list-title">
      <h2 id="graph-list-title">The same as a list</h2>
      <p class="hint">j and k move, Enter opens the record, e shows what is around it.</p>
      <ul class="graph-list" ref=${place}>
        ${model.nodes.map((node) => html`<li key=${node.key} data-key=${node.key} class=${node.key === chosen ? "chosen" : ""}>
          <${Shape} type=${node.type} state=${stateOf(node)} />
          <div>
            <a data-row href=${addressOf(node)} onFocus=${() => act.choose(node.key)}
              onKeyDown=${(event) => press(event, node)}>${cut(node.title, 110)}</a>
            <span class="muted">${` ${about(node)}`}</span>
            <ul>${linksOf(node, model, byKey).map(
              (one) => html`<li key=${one.key}>${`${spelled(one)}: ${cut(one.other.title, 60)}`}</li>`,
            )}</ul>
          </div>
        </li>`)}
      </ul>
    </section>`;
  }

  /** What is not shown, and how to see it. */
  function Bounds({ model, notes, more }) {
    return html`<div class="graph-bounds">
      ${notes.map((note) => html`<p class="hint note">${note}</p>`)}
      ${model.left > 0 && html`<p class="hint note">${`${cstp.plural(model.nodes.length, "record")} are shown; ${cstp.count(model.left)} more are left out. `}
        <button type="button" class="small" onClick=${more}>Show ${cstp.count(Math.min(SHOWN, model.left))} more</button></p>`}
    </div>`;
  }

  /** The answers for the centre and for each node that was opened, as one graph; each is asked for once. */
  function useAnswers(id, wish) {
    const known = useRef(new Map());
    const once = async (params, ask) => {
      const name = JSON.stringify(params);
      if (!known.current.has(name)) known.current.set(name, await ask());
      return known.current.get(name);
    };
    const key = JSON.stringify([id, wish]);
    return cstp.useGather(key, async (call, signal) => {
      const look = (node, depth) => cstp.graph.around(call, node, { ...wish, depth }, once, signal);
      const answers = id === null
        ? [...await once(["start"], () => cstp.graph.start(call, signal))]
        : [await look({ id, type: null }, wish.depth)];
      for (const one of wish.open) {
        const node = cstp.graph.merged(answers).nodes.get(one) ?? { id: one, type: null };
        answers.push(await look(node, node.type === "decision" || node.type === null ? 1 : 2));
      }
      return cstp.graph.merged(answers);
    });
  }

  function Graph({ id, wish, found, go }) {
    const [chosen, setChosen] = useState(id);
    const [bound, setBound] = useState(SHOWN);
    const whole = found.result;
    const model = useMemo(() => cstp.graph.shownOf(whole, id, wish.kinds, bound), [whole, wish.kinds.join(), bound]);
    const byKey = useMemo(() => new Map(model.nodes.map((node) => [node.key, node])), [model]);
    const opened = id === null ? wish.open : [id, ...wish.open];
    const act = {
      choose: setChosen,
      pick: (key) => {
        setChosen(key); // and the row of it has the focus, so that Enter opens it and j and k lead on
        const rows = [...document.querySelectorAll(".graph-list > [data-key]")];
        rows.find((one) => one.dataset.key === key)?.querySelector("[data-row]").focus({ preventScroll: true });
      },
      open: (key) => {
        location.hash = addressOf(byKey.get(key)).slice(1);
      },
      expand: (key) => {
        setChosen(key);
        if (!opened.includes(key)) go({ open: [...wish.open, key] });
      },
    };
    return html`<${Legend} links=${whole.links} wish=${wish} set=${(types) => go({ types })} />
      ${found.error && html`<${cstp.Failure} error=${found.error} again=${found.again} />`}
      <div class="graph" aria-busy=${found.loading ? "true" : "false"}>
        <div>
          <${cstp.graph.Canvas} model=${model} centre=${id} chosen=${chosen === id ? null : chosen} act=${act} />
          ${id !== null && model.nodes.length === 1 && html`<p class="empty">
            Nothing is linked to this record, as far as the token may see.
          </p>`}
          <${Bounds} model=${model} notes=${whole.notes} more=${() => setBound(bound + SHOWN)} />
        </div>
        <div class="graph-side">
          <${Panel} node=${byKey.get(chosen)} model=${model} byKey=${byKey} act=${act} opened=${opened} centre=${id} />
          <${AsList} model=${model} byKey=${byKey} chosen=${chosen} opened=${opened} act=${act} />
        </div>
      </div>`;
  }

  function Controls({ wish, go }) {
    const usual = { depth: "2", direction: "both" };
    const set = (name) => (value) => go({ [name]: value === usual[name] ? "" : value });
    return html`<div class="graph-controls">
      <${cstp.Choice} label="Up to" value=${String(wish.depth)} options=${DEPTHS} change=${set("depth")} />
      <${cstp.Choice} label="Links of decisions" value=${wish.direction} options=${DIRECTIONS} change=${set("direction")} />
      ${wish.open.length > 0 && html`<button type="button" class="small" onClick=${() => go({ open: [] })}>Take back what was added</button>`}
      <a href=${cstp.address.to("graph")}>Another start</a>
    </div>`;
  }

  function Shown({ id, wish, go }) {
    const found = useAnswers(id, wish);
    const empty = "No two of the newest records are linked. Search for one, or link decisions on their pages.";
    return html`<${cstp.Answer} of=${found} lines=${14} isEmpty=${(graph) => id === null && !graph.links.length} empty=${empty}
      show=${() => html`<${Graph} id=${id} wish=${wish} found=${found} go=${go} />`} />`;
  }

  cstp.pages.graph = function GraphPage({ path, params }) {
    const id = path[0] ?? null;
    const wish = asked(params);
    const go = (changes, options) => cstp.address.go(["graph", ...path], { ...params, ...changes }, options);
    return html`<${cstp.PageHead} title="Graph">
        <p class="muted">${id === null ? "Links of the newest records." : html`Around <code>${id}</code>`}</p>
      </${cstp.PageHead}>
      <div class="graph-top">
        <${Finder} query=${params.q ?? ""} type=${(q) => go({ q }, { replace: true })} />
        ${id !== null && !wish.problems.length && html`<${Controls} wish=${wish} go=${go} />`}
      </div>
      ${wish.problems.length > 0
        ? html`<${cstp.Failure} error=${{ message: wish.problems.join("; ") }} />
          <p><a href=${cstp.address.to(["graph", ...path])}>The graph without them</a></p>`
        : html`<${Shown} id=${id} wish=${wish} go=${go} />`}`;
  };
}
