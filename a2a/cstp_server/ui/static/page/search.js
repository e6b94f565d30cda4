"use strict";
// Search over all kinds, as one types. The address holds the query and every filter.
{
  const { html } = cstp;
  const { useMemo, useState } = cstp.hooks;

  const KINDS = ["decision", "chunk", "extraction", "episode", "artifact", "turn", "event"];
  const OF_SITE = ["decision", "chunk", "extraction", "episode"];
  const LABELS = {
    decision: "decisions", chunk: "passages", extraction: "extracted", episode: "episodes", artifact: "documents",
    turn: "turns", event: "events",
  };
  const SINGULAR = { chunk: "passage", artifact: "document" };
  const MODES = [["", "by meaning and words"], ["semantic", "by meaning"], ["keyword", "by words"]];
  const FILTERS = ["project", "source", "tag", "path", "from", "to", "sensitivity"];
  const PATH = /(?:^|\s)path:(\S+)/g; // a file in the query: decisions that govern it
  const FILE = /^[\w.@+-]+(?:\/[\w.@+-]+)+$/; // a query that is a file
  const SENSITIVITIES = [["", "any"], "normal", "sensitive", "highly_sensitive"];
  const LIMIT = 50;

  const list = (value) => [].concat(value ?? []);

  function request(params) {
    const typed = (params.q ?? "").trim();
    if (!typed) return null;
    const paths = [...[...typed.matchAll(PATH)].map((found) => found[1]), ...list(params.path).filter(Boolean)];
    const query = typed.replace(PATH, " ").trim() || paths.join(" ");
    return {
      query,
      limit: LIMIT,
      explain: true,
      mode: params.mode || null,
      project: params.project || null,
      tags: list(params.tag).length ? list(params.tag) : null,
      source: params.source || null,
      paths: paths.length ? paths : null,
      sensitivity: params.sensitivity || null,
      dateFrom: params.from || null,
      dateTo: params.to || null,
      abstain: params.abstain === "1",
    };
  }

  function Filters({ params, set }) {
    const { live } = cstp.useVisitor();
    const [open, setOpen] = useState([...FILTERS, "mode"].some((one) => params[one]));
    const field = (name, label, type = "text") => html`<label class="choice">
      ${label}
      <input type=${type} value=${list(params[name])[0] ?? ""} size="12"
        onChange=${(event) => set({ [name]: event.currentTarget.value })} />
    </label>`;
    return html`<details class="filters" open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
      <summary>Filters</summary>
      <div class="bar">
        ${live ? html`<${cstp.Choice} label="Find" value=${params.mode ?? ""} options=${MODES} change=${(mode) => set({ mode })} />` : null}
        ${field("project", "Project")} ${field("source", "Source")} ${field("tag", "Tag")}
        ${live ? field("path", "Governs the file") : null}
        ${field("from", "From", "date")} ${field("to", "To", "date")}
        <${cstp.Choice} label="Sensitivity" value=${params.sensitivity ?? ""} options=${SENSITIVITIES}
          change=${(sensitivity) => set({ sensitivity })} />
        ${live
          ? html`<label class="check">
              <input type="checkbox" checked=${params.abstain === "1"}
                onChange=${(event) => set({ abstain: event.currentTarget.checked ? "1" : "" })} />
              Nothing rather than poor results
            </label>`
          : null}
      </div>
    </details>`;
  }

  /** The kinds as chips, each with how many of the results it has; without numbers where nothing was asked. */
  function Kinds({ results, chosen, toggle }) {
    const { live } = cstp.useVisitor();
    const found = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
    for (const one of results ?? []) found[one.type] += 1;
    return html`<div class="bar" role="group" aria-label="Kinds of records">
      <span class="muted">${results?.length === LIMIT ? `Of the first ${LIMIT}:` : "Kinds:"}</span>
      ${(live ? KINDS : OF_SITE).map(
        (kind) => html`<${cstp.Chip} label=${LABELS[kind]} found=${results && found[kind]} on=${chosen.includes(kind)}
          toggle=${() => toggle(kind)} />`,
      )}
    </div>`;
  }

  const rounded = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));

  /** Why a result was found, in words and numbers. */
  function Why({ explain }) {
    if (!explain) return null;
    const { ranks, boosts, matchedWindow } = explain;
    return html`<p class="why">
      <span>by words: ${ranks.keyword ? `place ${ranks.keyword}` : "not found"} (BM25 ${rounded(explain.bm25)})</span>
      <span>by meaning: ${ranks.semantic ? `place ${ranks.semantic}` : "not found"} (cosine ${rounded(explain.cosine)})</span>
      ${boosts.phrase ? html`<span>phrase +${rounded(boosts.phrase)}</span>` : null}
      ${boosts.date ? html`<span>time +${rounded(boosts.date)}</span>` : null}
      ${matchedWindow && matchedWindow.total > 1
        ? html`<span>part ${matchedWindow.index + 1} of ${matchedWindow.total}</span>`
        : null}
    </p>`;
  }

  /** What names a result: a passage by its document and section, an episode by what was tried. */
  function titleOf(one) {
    if (one.type === "chunk") return cstp.passageTitle(one);
    const title = one.title ?? cstp.shortened(cstp.plain((one.snippet ?? String(one.id)).split("\n")[0]), 80);
    return one.place?.section && one.place.section !== title ? `${title} › ${one.place.section}` : title;
  }

  function Result({ one, query, why }) {
    const open = (event) => {
      if (event.key === "Enter" && event.target === event.currentTarget) event.currentTarget.querySelector("a").click();
    };
    const title = titleOf(one);
    return html`<li class="card result" data-row tabindex="0" aria-label=${`${SINGULAR[one.type] ?? one.type}: ${title}`} onKeyDown=${open}>
      <h2>
        <${cstp.RecordLink} type=${one.type} id=${one.id} params=${{ q: query }}>
          <${cstp.Marked} text=${title} query=${query} />
        </${cstp.RecordLink}>
      </h2>
      <p class="meta">
        <${cstp.Pill} kind="kind" value=${SINGULAR[one.type] ?? one.type} />
        ${one.score !== null && html`<span>score ${rounded(one.score)}</span>`}
        ${one.date && html`<${cstp.Time} at=${one.date} source=${one.dateSource} />`}
        ${one.source && !title.startsWith(one.source) && html`<span>${one.source}</span>`}
      </p>
      <${cstp.Snippet} text=${one.snippet} query=${query} />
      ${why && html`<${Why} explain=${one.explain} />`}
    </li>`;
  }

  /** Why a list is empty: nothing answers, the filters leave nothing, or there is nothing. */
  function nothing(params, asked, chosen, result) {
    if (result?.noGoodMatch) return "Nothing that is likely to answer this.";
    const filtered = chosen.length || FILTERS.some((name) => list(params[name]).length);
    return filtered ? "Nothing was found with these filters." : `No record that this token may see matches “${asked?.query}”.`;
  }

  function Interpreted({ times }) {
    if (!times) return null;
    return html`<p class="hint">
      Records from <${cstp.Time} at=${times.dateFrom} /> to <${cstp.Time} at=${times.dateTo} /> come a little earlier,
      since the question speaks of that time.
    </p>`;
  }

  /** For a query that is a file, a link to the decisions that govern it. */
  function Governing({ params }) {
    const file = (params.q ?? "").trim();
    if (!FILE.test(file) || list(params.path).length) return null;
    return html`<p class="hint">
      <a href=${cstp.address.to("search", { ...params, path: file })}>Only decisions that govern ${file}</a>
    </p>`;
  }

  function Search({ params }) {
    const visitor = cstp.useVisitor();
    const chosen = list(params.kind).filter((kind) => KINDS.includes(kind));
    const asked = useMemo(() => request(params), [params]);
    const found = cstp.useCall("cstp.search", asked, { delay: 120, keep: true });
    const set = (changed) => cstp.address.go("search", { ...params, ...changed }, { replace: true });
    const toggle = (kind) => set({ kind: chosen.includes(kind) ? chosen.filter((one) => one !== kind) : [...chosen, kind] });
    const why = params.why === "1";
    const all = asked === null ? [] : (found.result?.results ?? []);
    const shown = chosen.length ? all.filter((one) => chosen.includes(one.type)) : all;
    // a kind that the first results lack is asked for by itself
    const narrow = cstp.useCall(
      "cstp.search",
      asked !== null && chosen.length && all.length === LIMIT ? { ...asked, kinds: chosen } : null,
      { delay: 120, keep: true },
    );
    const results = chosen.length && narrow.result ? narrow.result.results : shown;
    return html`<${cstp.PageHead} title="Search">
        ${asked && found.result
          ? html`<span class="muted" role="status">
              ${cstp.found(results.length, "result", LIMIT)} in ${found.result.queryTimeMs} ms
            </span>`
          : null}
      </${cstp.PageHead}>
      <${Filters} params=${params} set=${set} />
      <${Kinds} results=${asked && found.result ? all : null} chosen=${chosen} toggle=${toggle} />
      ${asked === null
        ? html`<p class="empty">Type a question or some words. Results come as you type, over all kinds of records.</p>`
        : html`${visitor.live
            ? html`<div class="bar">
                <label class="check">
                  <input type="checkbox" checked=${why} onChange=${(event) => set({ why: event.currentTarget.checked ? "1" : "" })} />
                  Why each was found
                </label>
              </div>`
            : html`<p class="hint">Found by words, in titles, tags and ${visitor.cut ? `the first ${cstp.count(visitor.cut)} characters of each text` : "texts"}.</p>`}
          ${visitor.live && html`<${Governing} params=${params} />`}
          <${Interpreted} times=${found.result?.interpreted} />
          <${cstp.Answer} of=${found} lines=${12} isEmpty=${() => !results.length && !narrow.loading}
            empty=${nothing(params, asked, chosen, found.result)}
            show=${() => html`<ol class="results">
              ${results.map((one) => html`<${Result} key=${`${one.type} ${one.id}`} one=${one} query=${asked.query} why=${why} />`)}
            </ol>
            <${cstp.CallShown} method="cstp.search" params=${chosen.length ? { ...asked, kinds: chosen } : asked} />`} />`}`;
  }

  cstp.pages.search = Search;
  Object.assign(cstp, { Why, Result });
}
