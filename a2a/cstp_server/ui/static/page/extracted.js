"use strict";
// What was extracted from sources, and links to sources: the parts that several pages show.
{
  const { html } = cstp;

  /** The members of each type of extraction in the order to read them; the first names it. */
  const MEMBERS = {
    decision: ["question", "recommendedApproach", "options", "considerations", "context"],
    pattern: ["name", "problem", "solution", "codeExample", "tradeOffs", "context"],
    warning: ["title", "description", "symptoms", "consequences", "prevention"],
    methodology: ["name", "steps", "prerequisites", "outputs"],
    checklist: ["name", "items", "context"],
    persona: ["role", "responsibilities", "expertise", "communicationStyle"],
    workflow: ["name", "trigger", "steps", "decisionPoints"],
  };
  const LABELS = {
    recommendedApproach: "Recommended", codeExample: "Example", tradeOffs: "Trade-offs",
    communicationStyle: "Style", decisionPoints: "Points of decision",
  };
  const BRIEF = { warning: ["description", "prevention"], methodology: ["steps"], checklist: ["items"], workflow: ["trigger", "steps"] };
  const NUMBERED = ["steps"];

  const labelOf = (member) => LABELS[member] ?? member[0].toUpperCase() + member.slice(1);
  const headingOf = (type, content) => content[MEMBERS[type][0]];
  const isEmpty = (value) => value === null || value === undefined || value === "" || value.length === 0;

  /** An entry of a list: a text, a step of a methodology or a workflow, or an item of a checklist. */
  function Entry({ entry, query }) {
    const text = (value) => html`<${cstp.Marked} text=${value} query=${query} />`;
    if (typeof entry === "string") return text(entry);
    const more = [...(entry.tips ?? []), ...(entry.outputs ?? []).map((output) => `Gives: ${output}`)];
    return html`${text(entry.title ?? entry.action ?? entry.item)}
      ${entry.required === true && html` <span class="pill">required</span>`}
      ${entry.description && html`<br />${text(entry.description)}`}
      ${more.length > 0 && html`<ul>${more.map((one) => html`<li>${text(one)}</li>`)}</ul>`}`;
  }

  function Member({ name, value, query }) {
    if (name === "codeExample") return html`<pre tabindex="0"><code>${value}</code></pre>`;
    if (!Array.isArray(value)) return html`<span class="text"><${cstp.Marked} text=${value} query=${query} /></span>`;
    const entries = value.map((entry) => html`<li><${Entry} entry=${entry} query=${query} /></li>`);
    return NUMBERED.includes(name) ? html`<ol>${entries}</ol>` : html`<ul>${entries}</ul>`;
  }

  /** The content of an extraction without what names it; `brief` is what matters most, cut to a few lines. */
  function Extracted({ type, content, query, brief = false }) {
    const wanted = brief ? (BRIEF[type] ?? MEMBERS[type].slice(1, 3)) : MEMBERS[type].slice(1);
    const members = wanted.filter((name) => !isEmpty(content[name]));
    return html`<dl class=${brief ? "extracted brief" : "extracted"}>
      ${members.map(
        (name) => html`<div class=${name}>
          <dt>${labelOf(name)}</dt>
          <dd><${Member} name=${name} value=${content[name]} query=${query} /></dd>
        </div>`,
      )}
    </dl>`;
  }

  /** An address of the web, or null for any other text. */
  function webAddress(text) {
    try {
      return /^https?:$/.test(new URL(text).protocol) ? text : null;
    } catch {
      return null;
    }
  }

  /** A link that leaves the page; an address that is none of the web is shown as a text. */
  function WebLink({ address, children }) {
    if (!address) return null;
    return webAddress(address)
      ? html`<a href=${address} target="_blank" rel="noopener noreferrer nofollow">${children ?? address}</a>`
      : html`<span>${address}</span>`;
  }

  /** Topics or tags, each a link to what else has it. */
  function Topics({ topics }) {
    return html`${topics.map(
      (topic, at) => html`${at > 0 && ", "}<a href=${cstp.address.to("knowledge", { topic })}>${topic}</a>`,
    )}`;
  }

  /** Where an extraction or a passage comes from. */
  function SourceLink({ id, title }) {
    if (!id && !title) return null;
    return html`<a href=${cstp.address.to("knowledge", { source: id ?? title })}>${title ?? id}</a>`;
  }

  Object.assign(cstp, { Extracted, headingOf, WebLink, Topics, SourceLink });
}
