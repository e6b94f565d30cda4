"use strict";
// The server: the health of its parts, what it holds, how busy it is, what this token may, and its methods.
{
  const { html } = cstp;
  const { useEffect, useRef, useState } = cstp.hooks;

  const EVERY = 5000; // milliseconds
  const COUNTED_EVERY = 60_000; // the counts of decisions are a read, which the audit notes
  const KEPT = 60; // samples of the small charts
  const PARTS = {
    records: "the store of all records", keywords: "searches by words", vectors: "searches by meaning",
    embedder: "makes vectors of texts", limits: "how many calls an agent may make", audit: "who read and wrote what",
    workers: "the processes that answer",
  };
  const STATES = {
    ready: "success", memory: "success", shared: "success", off: "", degraded: "partial", down: "failed", draining: "partial",
    unavailable: "failed", building: "partial",
  };

  const timeFormat = cstp.once(() => new Intl.DateTimeFormat(undefined, { timeStyle: "medium" }));
  const bytes = (value) => (value === null ? null : `${cstp.count(Math.round(value / 1_048_576))} MiB`);
  const LONGEST = 15; // seconds: the last bound that the server counts by

  function milliseconds(seconds) {
    if (seconds === null) return "–";
    return seconds > LONGEST ? `over ${LONGEST} s` : `${cstp.count(Number((seconds * 1000).toPrecision(2)))} ms`;
  }

  function ago(seconds) {
    if (seconds < 90) return `${Math.round(seconds)} s`;
    if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
    return seconds < 129_600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
  }

  /** Everything that is asked again and again. Each is a result or an error, so that one does not hide the others. */
  async function look({ call, read }, signal) {
    const settled = async (promise) => {
      try {
        return { result: await promise };
      } catch (error) {
        if (error.name === "AbortError") throw error;
        return { error };
      }
    };
    const [ready, who, counted] = await Promise.all([
      settled(read("readyz", signal)), settled(call("cstp.whoami", {}, signal)), settled(read("metrics", signal)),
    ]);
    if (ready.error) throw ready.error; // the server is away: the last figures stay
    return { health: parsedHealth(ready.result), who, metrics: counted.result ? parsedScrape(counted.result) : counted };
  }

  function parsedHealth({ status, text }) {
    try {
      return { result: JSON.parse(text) };
    } catch {
      return { error: new Error(`The answer of /readyz was no JSON (HTTP ${status}).`) };
    }
  }

  function parsedScrape({ status, text }) {
    if (status === 200) return { result: cstp.parsedMetrics(text) };
    if (status === 403) return { error: new Error("The metrics need a token with the scope admin, which this one lacks.") };
    if (status === 401) return { error: new Error("The metrics need a token that is accepted.") };
    return { error: new Error(`The metrics were refused (HTTP ${status}).`) };
  }

  /** A line over the last samples; the figure next to it says the last one. */
  function Spark({ values, label }) {
    const most = Math.max(...values, 1e-9);
    const points = values.map((value, at) => `${(at / (KEPT - 1)) * 100},${29 - (value / most) * 28}`);
    return html`<svg class="spark" viewBox="0 0 100 30" preserveAspectRatio="none" role="img" aria-label=${label}>
      <polyline points=${points.join(" ")} vector-effect="non-scaling-stroke" />
    </svg>`;
  }

  /** The figures of the last samples: calls each second, and memory. */
  function useHistory(metrics, at) {
    const history = useRef({ last: null, rates: [], memory: [] });
    useEffect(() => {
      if (!metrics) return;
      const { last, rates, memory } = history.current;
      const calls = cstp.sampled(metrics, "cstp_calls_total") ?? 0;
      const rate = last && at > last.at ? Math.max(0, (calls - last.calls) / ((at - last.at) / 1000)) : null;
      history.current = {
        last: { calls, at },
        rates: rate === null ? rates : [...rates, rate].slice(-KEPT),
        memory: [...memory, cstp.sampled(metrics, "process_resident_memory_bytes") ?? 0].slice(-KEPT),
      };
    }, [at]);
    return history.current;
  }

  function Card({ title, of, children, size = "" }) {
    return html`<section class=${`card ${size}`}>
      <h2>${title}</h2>
      ${of?.error && !of.result ? html`<p class="failure" role="alert">${of.error.message}</p>` : children}
    </section>`;
  }

  function Health({ health }) {
    return html`<${Card} title="Health" of=${health}>
      ${health.result && html`<p>All in all: <span class=${`pill ${STATES[health.result.status] ?? ""}`}>${health.result.status}</span></p>
        <dl class="facts">
          ${Object.entries(health.result.parts).map(([part, state]) => html`<div key=${part}>
            <dt>${part}</dt>
            <dd><span class=${`pill ${STATES[state] ?? ""}`}>${state}</span> <span class="muted">${PARTS[part] ?? ""}</span></dd>
          </div>`)}
        </dl>`}
    </${Card}>`;
  }

  function Token({ who }) {
    const one = who.result;
    return html`<${Card} title="This token" of=${who}>
      ${one && html`<${cstp.Facts} rows=${[
        ["Agent", one.agent],
        ["Scopes", one.scopes.join(", ")],
        ["Sees up to", one.clearance.replace("_", " ")],
        ["Projects", one.projects === null ? "all" : one.projects.join(", ")],
        ["Expires", html`<${cstp.Time} at=${one.expiresAt} hours /> (in ${ago(Math.max(0, (new Date(one.expiresAt) - Date.now()) / 1000))})`],
        ["Server", `${one.server.agent}, version ${one.server.version}`],
      ]} />
      <h3>What is left of its limits</h3>
      <dl class="facts">
        ${one.limits.map((limit) => html`<div key=${limit.policy}>
          <dt>Each ${limit.window === 1 ? "second" : `${cstp.count(limit.window)} s`}</dt>
          <dd class="gauge"><meter min="0" max=${limit.limit} low=${limit.limit * 0.2} optimum=${limit.limit} value=${limit.remaining}
            aria-label=${`${limit.policy}: ${limit.remaining} of ${limit.limit} left`}></meter>
            ${cstp.count(limit.remaining)} of ${cstp.count(limit.limit)}</dd>
        </div>`)}
      </dl>`}
    </${Card}>`;
  }

  /** How far each index of each space is behind the store, and how much it holds. */
  function Indexes({ metrics }) {
    const found = metrics.result;
    const spaces = [...new Set((found?.cstp_index_records ?? []).map(({ labels }) => labels.space))].sort();
    const of = (name, labels) =>
      found[name]?.find((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))?.value ?? null;
    const lag = (space, index) => {
      const seconds = of("cstp_index_lag", { space, index });
      return seconds === null ? html`<span class="none">–</span>`
        : html`<span class=${`pill ${seconds < 5 ? "success" : "partial"}`}>${seconds ? `${ago(seconds)} behind` : "up to date"}</span>`;
    };
    const number = (value) => (value === null ? "–" : cstp.count(value));
    return html`<${Card} title="Indexes" of=${metrics} size="wide-card">
      ${found && !spaces.length && html`<p>Sizes are shown to tokens with the scope <b>admin</b>, since a clearance may hide
        records. This one has: ${cstp.useVisitor().scopes.join(", ")}.</p>`}
      ${spaces.length > 0 && html`<div class="framed" tabindex="0" role="group" aria-label="Table of indexes"><table class="plain-table">
        <thead><tr>${["Space", "Records", "Vectors in memory", "Fields", "Words", "Vectors"].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
        <tbody>
          ${spaces.map((space) => html`<tr key=${space}>
            <th scope="row">${space}</th>
            <td class="number">${number(of("cstp_index_records", { space }))}</td>
            <td class="number">${number(of("cstp_index_windows", { space }))}</td>
            ${["columns", "keywords", "vectors"].map((index) => html`<td>${lag(space, index)}</td>`)}
          </tr>`)}
        </tbody>
      </table></div>`}
    </${Card}>`;
  }

  function Load({ metrics, history }) {
    const found = metrics.result;
    const one = (name) => (found ? cstp.sampled(found, name) : null);
    const lag = one("cstp_event_loop_lag_seconds_sum") / (one("cstp_event_loop_lag_seconds_count") || 1);
    const hits = one("cstp_embedding_cache_hits_total");
    const asked = hits + one("cstp_embedding_cache_misses_total");
    const rate = history.rates.at(-1);
    return html`<${Card} title="Load" of=${metrics}>
      ${found && html`<dl class="facts">
        <div><dt>Calls each second</dt><dd class="gauge">
          <${Spark} values=${history.rates} label="Calls each second, over the last minutes" />${rate === undefined ? "…" : rate.toFixed(1)}</dd></div>
        <div><dt>Memory</dt><dd class="gauge">
          <${Spark} values=${history.memory} label="Memory over the last minutes" />${bytes(one("process_resident_memory_bytes"))}</dd></div>
      </dl>
      <${cstp.Facts} rows=${[
        ["Running", cstp.plural(one("cstp_requests_running") ?? 0, "request")],
        ["Waiting", cstp.plural(one("cstp_requests_waiting") ?? 0, "request")],
        ["Following changes", cstp.plural(one("cstp_followers") ?? 0, "call")],
        ["Audit rows that wait", cstp.count(one("cstp_audit_waiting") ?? 0)],
        ["Event loop late by", `${milliseconds(lag)} on average`],
        ["Known query vectors", asked > 0 && `${Math.round((100 * hits) / asked)} % of ${cstp.plural(asked, "query", "queries")}`],
        ["Workers", found.cstp_workers && cstp.count(one("cstp_workers"))],
        ["Up for", found.process_start_time_seconds?.length === 1 && ago(Date.now() / 1000 - one("process_start_time_seconds"))],
      ]} />`}
    </${Card}>`;
  }

  function Pools({ metrics }) {
    const found = metrics.result;
    const of = (name, pool) => found[name]?.find(({ labels }) => labels.pool === pool)?.value ?? 0;
    const pools = (found?.cstp_pool_threads ?? []).map(({ labels, value }) => ({ name: labels.pool, threads: value }));
    const sources = found?.cstp_source_up ?? [];
    const age = (source) => found.cstp_source_age_seconds?.find(({ labels }) => labels.source === source)?.value;
    return html`<${Card} title="Threads" of=${metrics}>
      ${found && html`<dl class="facts">
        ${pools.map(({ name, threads }) => html`<div key=${name}>
          <dt>${name}</dt>
          <dd class="gauge"><meter min="0" max=${threads} value=${of("cstp_pool_running", name)} high=${threads - 0.5} optimum="0"
            aria-label=${`${name}: ${of("cstp_pool_running", name)} of ${threads} run`}></meter>
            ${of("cstp_pool_running", name)} of ${threads}, ${of("cstp_pool_waiting", name)} wait</dd>
        </div>`)}
      </dl>
      ${sources.length > 0 && html`<h3>Followed sources</h3>
        <dl class="facts">${sources.map(({ labels, value }) => html`<div key=${labels.source}>
          <dt>${labels.source}</dt>
          <dd><span class=${`pill ${value ? "success" : "failed"}`}>${value ? "read" : "cannot be read"}</span>
            ${age(labels.source) !== undefined && html` ${ago(age(labels.source))} ago`}</dd>
        </div>`)}</dl>`}`}
    </${Card}>`;
  }

  function Methods({ metrics }) {
    const rows = metrics.result ? cstp.callsByMethod(metrics.result) : [];
    const answers = (metrics.result?.cstp_http_answers_total ?? []).map(({ labels, value }) => `${labels.status}: ${cstp.count(value)}`).sort();
    return html`<${Card} title="Calls since the start" of=${metrics} size="whole-row">
      <div class="framed tall" tabindex="0" role="group" aria-label="Table of calls"><table class="plain-table">
        <thead><tr>${["Method", "Calls", "Errors", "Mean", "95 of 100 within"].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
        <tbody>${rows.map((row) => html`<tr key=${row.name}>
          <th scope="row"><a href=${cstp.address.to("server", { method: row.name })}>${row.name}</a></th>
          <td class="number">${cstp.count(row.calls)}</td>
          <td class="number">${row.errors ? html`<b>${cstp.count(row.errors)}</b>` : "0"}</td>
          <td class="number">${milliseconds(row.mean)}</td>
          <td class="number">${milliseconds(row.most)}</td>
        </tr>`)}</tbody>
      </table></div>
      <p class="hint">Answers by HTTP status: ${answers.join(", ") || "none yet"}</p>
    </${Card}>`;
  }

  /** Counts by name as bars, the most frequent first. */
  function Bars({ title, counts, param }) {
    const rows = Object.entries(counts).slice(0, 10);
    const most = Math.max(1, ...rows.map(([, found]) => found));
    return html`<div>
      <h3>${title}</h3>
      <dl class="facts">
        ${rows.map(([name, found]) => html`<div key=${name}>
          <dt><a href=${cstp.address.to("decisions", { [param]: name })}>${name}</a></dt>
          <dd class="gauge"><meter min="0" max=${most} value=${found} aria-label=${`${name}: ${found}`}></meter>${cstp.count(found)}</dd>
        </div>`)}
      </dl>
    </div>`;
  }

  function Decisions({ counts }) {
    const { result } = counts;
    return html`<${Card} title="Decisions" of=${counts} size="wide-card">
      ${result && html`<p><b>${cstp.count(result.total)}</b> that this token sees; ${cstp.count(result.recentActivity.last24h)} of
          the last day, ${cstp.count(result.recentActivity.last7d)} of seven, ${cstp.count(result.recentActivity.last30d)} of thirty</p>
        <div class="halves">
          <${Bars} title="By status" counts=${result.byStatus} param="status" />
          <${Bars} title="By category" counts=${result.byCategory} param="category" />
        </div>`}
    </${Card}>`;
  }

  function Doctor() {
    return html`<${Card} title="What the doctor finds">
      <p>What is wrong with an installation is looked for on the server's machine; no method gives it.</p>
      <p><code>cstp doctor</code> <${cstp.Copy} text="cstp doctor" /></p>
      <p class="hint">It checks the settings, the store, the indexes, the model and the sources, and names a remedy for each finding.</p>
    </${Card}>`;
  }

  function Figures({ seen, counts }) {
    const { health, who, metrics } = seen.result;
    const history = useHistory(metrics.result, seen.at);
    return html`<div class="panels">
      <${Health} health=${health} />
      <${Token} who=${who} />
      <${Load} metrics=${metrics} history=${history} />
      <${Indexes} metrics=${metrics} />
      <${Pools} metrics=${metrics} />
      <${Decisions} counts=${counts} />
      <${Doctor} />
      <${Methods} metrics=${metrics} />
    </div>`;
  }

  function Server({ params }) {
    const visitor = cstp.useVisitor();
    const [live] = useState(visitor.live !== false);
    const seen = cstp.useRepeated((signal) => look(visitor, signal), EVERY);
    const counts = cstp.useRepeated((signal) => visitor.call("cstp.getStats", {}, signal), COUNTED_EVERY);
    const ready = seen.result && (counts.result || counts.error);
    if (!live) return html`<${cstp.PageHead} title="Server" /><p class="empty">This page was saved: it has no server to ask.</p>`;
    return html`<${cstp.PageHead} title="Server">
        <span class=${`pulse ${seen.error ? "broken" : "live"}`} role="status">
          ${seen.error ? `does not answer${seen.at ? `; as of ${timeFormat().format(seen.at)}` : ""}` : "every 5 seconds"}
        </span>
      </${cstp.PageHead}>
      ${!ready && (seen.error ? html`<${cstp.Failure} error=${seen.error} />` : html`<${cstp.Placeholder} lines=${18} />`)}
      ${ready && html`<${Figures} seen=${seen} counts=${counts} />`}
      ${ready && html`<${cstp.MethodList} wanted=${params.method} />`}`;
  }

  cstp.pages.server = Server;
}
