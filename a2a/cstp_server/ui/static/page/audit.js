"use strict";
// Who asked what: the audit, for tokens that may read it.
{
  const { html } = cstp;
  const { useEffect, useRef, useState } = cstp.hooks;

  const PAGE = 50;
  const LINKED = 5; // records of a row that are shown
  const OUTCOMES = {
    "-32602": "invalid params", "-32603": "internal error", "-32001": "no valid token", "-32002": "rate limited",
    "-32003": "query failed", "-32007": "not found", "-32009": "forbidden", "-32010": "overloaded", "-32011": "conflict",
  };
  const FILTERS = ["agent", "method", "id", "since", "until"];

  /** The rows that were read so far, newest first. A page is read when it is asked for: each reading is a row itself. */
  function useRows(filters) {
    const { call } = cstp.useVisitor();
    const [state, setState] = useState({ rows: null, before: null, head: null, error: null, loading: true });
    const stop = useRef(null);
    const key = JSON.stringify(filters);
    const read = async (held, before) => {
      stop.current?.abort();
      stop.current = new AbortController();
      setState((known) => ({ ...known, loading: true, error: null }));
      try {
        const found = await call("cstp.audit", { ...filters, limit: PAGE, before }, stop.current.signal);
        setState((known) => ({
          rows: [...held, ...found.rows], before: found.before, head: known.head && held.length ? known.head : found.head,
          error: null, loading: false,
        }));
      } catch (error) {
        if (error.name !== "AbortError") setState((known) => ({ ...known, loading: false, error }));
      }
    };
    useEffect(() => {
      read([], null);
    }, [key, call]);
    useEffect(() => () => stop.current?.abort(), []);
    return { ...state, newest: () => read([], null), older: () => read(state.rows, state.before) };
  }

  /** Texts wait for Enter or leaving the field: each change is a call, which is a row of the audit. */
  function Filter({ name, label, type = "text", params, set }) {
    const value = params[name] ?? "";
    const [text, setText] = useState(value);
    useEffect(() => setText(value), [value]);
    return html`<label class="choice">
      ${label}
      <input type=${type} size=${type === "text" ? 14 : null} value=${text} autocomplete="off" spellcheck=${false}
        onInput=${(event) => setText(event.currentTarget.value)} onChange=${(event) => set({ [name]: event.currentTarget.value.trim() })} />
    </label>`;
  }

  function Outcome({ code }) {
    if (code === 0) return html`<span class="pill success">ok</span>`;
    return html`<span class="pill failed">${OUTCOMES[code] ?? "error"} ${code}</span>`;
  }

  function Records({ records, titles }) {
    if (!records.length) return html`<span class="none">–</span>`;
    return html`<ul class="inline">
      ${records.slice(0, LINKED).map(({ kind, id, written }) => html`<li key=${`${kind} ${id}`}>
        ${written && html`<span class="pill ready">wrote</span> `}<span class="muted">${kind.replace("_", " ")}</span>${" "}
        <${cstp.IdLink} kind=${kind} id=${id} title=${titles[`${kind} ${id}`]} />
      </li>`)}
      ${records.length > LINKED && html`<li class="muted">and ${cstp.count(records.length - LINKED)} more</li>`}
    </ul>`;
  }

  function AuditRow({ row, params, set, titles }) {
    const filter = (name, value) => html`<button type="button" class="plain-button" aria-label=${`Only ${name} ${value}`}
      onClick=${() => set({ [name]: params[name] === value ? "" : value })}>${value}</button>`;
    const open = (event) => {
      if (event.key === "Enter" && event.target === event.currentTarget) event.currentTarget.querySelector("a")?.click();
    };
    return html`<tr data-row tabindex="0" onKeyDown=${open}>
      <td data-label="Time"><${cstp.Moment} at=${row.at} /></td>
      <td data-label="Agent">${filter("agent", row.agent)}</td>
      <td data-label="Method">${filter("method", row.method)} <span class="muted">${row.via}</span></td>
      <td data-label="Outcome"><${Outcome} code=${row.code} /></td>
      <td data-label="Records">
        ${row.query !== null && html`<p class="asked">“${row.query}”</p>`}
        <${Records} records=${row.records} titles=${titles} />
      </td>
    </tr>`;
  }

  function Head({ head }) {
    if (!head) return null;
    const noted = `${head.number}:${head.hash}`;
    return html`<p class="hint">The newest row of all is number ${head.number}${head.pruned
      ? `; those up to ${head.pruned} were removed for their age` : ""}. Noted elsewhere, it shows later that nothing
      before it was changed: <code>cstp audit verify --noted</code>${" "}
      <${cstp.Copy} text=${noted} label="Copy what to note" /></p>`;
  }

  function Table({ params, set, titles }) {
    const filters = Object.fromEntries(FILTERS.map((name) => [name, params[name] || null]));
    const found = useRows(filters);
    const filtered = FILTERS.some((name) => params[name]);
    return html`<div class="bar">
        <${Filter} name="agent" label="Agent" params=${params} set=${set} />
        <${Filter} name="method" label="Method" params=${params} set=${set} />
        <${Filter} name="id" label="Record" params=${params} set=${set} />
        <${Filter} name="since" label="From" type="date" params=${params} set=${set} />
        <${Filter} name="until" label="To" type="date" params=${params} set=${set} />
        <button type="button" class="small" disabled=${found.loading} onClick=${found.newest}>Read again</button>
        <button type="button" class="small" disabled=${!filtered}
          onClick=${() => set(Object.fromEntries(FILTERS.map((name) => [name, ""])))}>Clear</button>
      </div>
      ${found.error && html`<${cstp.Failure} error=${found.error} again=${found.newest} />`}
      <div class="card log">
        ${found.rows === null && !found.error && html`<${cstp.Placeholder} lines=${14} />`}
        ${found.rows?.length === 0 && html`<p class="empty">${filtered ? "No call is like that." : "No call has been noted yet."}</p>`}
        ${found.rows?.length > 0 && html`<table class="calls">
          <colgroup><col class="time" /><col class="agent" /><col class="method" /><col class="outcome" /><col /></colgroup>
          <thead><tr>${["Time", "Agent", "Method", "Outcome", "Records"].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
          <tbody>${found.rows.map((row) => html`<${AuditRow} key=${row.number} row=${row} params=${params} set=${set} titles=${titles} />`)}</tbody>
        </table>`}
        ${found.before !== null && html`<p class="reading"><button type="button" disabled=${found.loading} onClick=${found.older}>
          Older calls</button></p>`}
      </div>
      <${Head} head=${found.head} />
      <${cstp.CallShown} method="cstp.audit" params=${{ ...filters, limit: PAGE }} />`;
  }

  function NoScope({ agent }) {
    const command = `cstp token create --agent ${agent} --scope read --scope admin`;
    return html`<div class="card">
      <p>The audit is read with the scope <b>admin</b>, which this token lacks. It also lets its agent change and forget what
        others wrote, so keep such a token for this. On the server's machine:</p>
      <p><code>${command}</code> <${cstp.Copy} text=${command} /></p>
      <p>Then sign in with that token. The operator asks without any: <code>cstp audit list</code>.</p>
    </div>`;
  }

  function Calls({ params, set, titles }) {
    const { agent, scopes } = cstp.useVisitor();
    return html`<section aria-label="Calls">
      <h2>Calls</h2>
      ${scopes.includes("admin") ? html`<${Table} params=${params} set=${set} titles=${titles} />` : html`<${NoScope} agent=${agent} />`}
    </section>`;
  }

  cstp.Calls = Calls;
}
