// The audit trail: which operator did what, refusals included.
import { withQuery } from './api.js'
import { describe } from './format.js'
import { html } from './html.js'
import { Members } from './members.js'
import { Id, Status, Time } from './parts.js'
import { useResource } from './resource.js'
import { Filters, List, listQuery, TextFilter } from './table.js'

const COLUMNS = ['When', 'Who', 'Action', 'About', 'Details']

/** @param {{ route: import('./route.js').Route }} props */
export function Audit({ route }) {
  const { query } = route
  const list = useResource(withQuery('/admin/actions', listQuery(route)), { everyMs: 5_000 })
  return html`
    <h1>Audit</h1>
    <p>What operators did, and what they were refused. Entries cannot be changed.</p>
    <${Filters} ...${{ route, problem: list.problem }}>
      <${TextFilter} label="Operator" name="actor" value=${query['actor']} hint="alice" />
      <${TextFilter} label="About" name="subject" value=${query['subject']} hint="op_..." />
    <//>
    <${List}
      ...${{ list, route, cells }}
      caption="Audit trail, newest first"
      columns=${COLUMNS}
      empty="No entry matches."
    />
  `
}

/** @param {import('../client/operators-schema.ts').components['schemas']['AdminAction']} action */
function cells({ id, actor, action, subject, details, happened_at: at }) {
  const { result, refused, ...more } = details
  return [
    html`<${Time} at=${at} />`,
    html`<bdi>${actor}</bdi>`,
    html`${action}<br />${
        refused === undefined
          ? html`<span class="quiet">${describe(result)}</span>`
          : html`<${Status} status=${`refused: ${describe(refused)}`} tone="bad" />`
      }`,
    html`<${Id} id=${subject} />`,
    html`<${Members} value=${more} label=${`Details of ${id}`} />`,
  ]
}
