// One operation: its state, what a resume would do, what is known about an unknown outcome, and the
// changes that an operator can make.
import { Action } from './action.js'
import { change, withQuery } from './api.js'
import { formatSeconds, words } from './format.js'
import { html } from './html.js'
import {
  AmountOf,
  Facts,
  Foreign,
  Id,
  Json,
  Loading,
  ProblemNote,
  Status,
  Tenant,
  Time,
} from './parts.js'
import { Resolution } from './resolution.js'
import { useResource } from './resource.js'
import { Table } from './table.js'
import { Waterfall } from './waterfall.js'

/** What each kind of resume does, for a person. @type {Record<string, string>} */
const RESUMES = {
  look_up: 'It looks up the outcome at the provider. It executes nothing.',
  repeat_call:
    'It repeats the provider call with the same provider key. The provider still remembers the key, so that nothing is executed twice.',
  run: 'It runs the current step, which cannot have run before.',
  park: 'It marks the outcome as unknown and looks it up, because the call may have run and the provider may have forgotten its key.',
  reopen:
    'It runs the operation again, as a retry of its client would. It is proved that nothing happened.',
  nothing: 'Nothing: the operation is completed, or a worker works on it.',
}

/** @param {{ route: import('./route.js').Route }} props */
export function Operation({ route: { id = '' } }) {
  const path = `/admin/operations/${encodeURIComponent(id)}`
  const operation = useResource(path, { everyMs: 2_000, live: true })
  const trail = useResource(withQuery('/admin/actions', { subject: id, limit: 50 }), {
    everyMs: 5_000,
    live: true,
  })
  const { value, problem } = operation
  const reload = () => {
    operation.reload()
    trail.reload()
  }
  if (value === undefined) {
    return html`<h1>Operation <code>${id}</code></h1>
      <${Loading} of=${operation} />`
  }
  return html`
    <h1>Operation <code>${id}</code></h1>
    <${ProblemNote} problem=${problem} />
    <${OperationFacts} operation=${value} />
    <${Resume} operation=${value} path=${path} done=${reload} />
    <${Resolution}
      operation=${value}
      path=${path}
      trail=${trail.value?.data ?? []}
      done=${reload}
    />
    <h2>Audit trail</h2>
    <${Loading} of=${trail} />
    <${Trail} actions=${trail.value?.data ?? []} />
    <h2>Timeline</h2>
    <${Waterfall}
      life=${{ operations: [value], runs: value.timeline }}
      caption="Every attempt, oldest first"
    />
  `
}

/** @param {{ operation: any }} props */
function OperationFacts({ operation }) {
  /** @type {[string, unknown][]} */
  const facts = [
    ['Kind', operation.operation],
    ['Status', html`<${Status} status=${operation.status} />`],
    ['Recovery point', html`<code>${operation.recovery_point}</code>`],
    ['Amount', html`<${AmountOf} operation=${operation} />`],
    ['Payment', html`<${Id} id=${operation.payment} />`],
    ['Refund', html`<${Id} id=${operation.refund} />`],
    ['Tenant', html`<${Tenant} id=${operation.tenant} />`],
    ['Idempotency key', html`<${Foreign} text=${operation.idempotency_key} />`],
    ['Created', html`<${Time} at=${operation.created_at} />`],
    ['Attempts', operation.attempts],
    ['Lease epoch', operation.lease_epoch],
    ['Lease expires', html`<${Time} at=${operation.lease_expires_at} />`],
    ['In doubt', operation.in_doubt ? 'yes: a provider call may have run' : 'no'],
    [
      'Call first made',
      operation.phase_age_seconds === null
        ? html`<span class="quiet">never</span>`
        : `${formatSeconds(operation.phase_age_seconds)} ago`,
    ],
    ['Last error', html`<${Foreign} text=${operation.last_error} />`],
  ]
  return html`<${Facts} facts=${facts} />`
}

/** @param {{ operation: any, path: string, done: () => void }} props */
function Resume({ operation, path, done }) {
  const { resume_would: would } = operation
  const effect = RESUMES[would] ?? words(would)
  return html`<h2>What a resume would do now</h2>
    <p>${effect}</p>
    ${
      would !== 'nothing' &&
      html`<${Action}
        label="Resume"
        title="Resume this operation?"
        done=${done}
        run=${() => change('POST', `${path}/resume`)}
      >
        <p>${effect}</p>
        <p>A charge that may have been made is never made a second time.</p>
      <//>`
    }`
}

/** @param {{ actions: any[] }} props */
function Trail({ actions }) {
  return html`<${Table}
    caption="What operators did with it, newest first"
    columns=${['When', 'Who', 'Action', 'Details']}
    empty="No operator did anything."
    rows=${actions.map((action) => ({
      key: action.id,
      cells: [
        html`<${Time} at=${action.happened_at} />`,
        html`<bdi>${action.actor}</bdi>`,
        action.action,
        html`<${Json} value=${action.details} label=${`Details of ${action.id}`} />`,
      ],
    }))}
  />`
}
