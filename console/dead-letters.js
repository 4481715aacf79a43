// Dead letters: jobs that used up their retries. An operator can have them tried again.
import { Action } from './action.js'
import { change, withQuery } from './api.js'
import { plural } from './format.js'
import { html } from './html.js'
import { Members } from './members.js'
import { Foreign, Id, Status, Time } from './parts.js'
import { useResource } from './resource.js'
import { MOVES_MONEY } from './resume.js'
import { hrefOf } from './route.js'
import { ChoiceFilter, Filters, List, listQuery } from './table.js'

const QUEUES = [
  'operations.dead',
  'provider-events.dead',
  'webhook-deliveries.dead',
  'reconciliations.dead',
]

const COLUMNS = ['About', 'Queue', 'Redrive', 'Last error', 'Died', 'Job']

/** The numbers change slowly, and the list beside them is read only on request. */
const COUNTS_EVERY_MS = 10_000

/** @param {{ route: import('./route.js').Route }} props */
export function DeadLetters({ route }) {
  const list = useResource(withQuery('/admin/dead-letters', listQuery(route)))
  const { queue = '' } = route.query
  const options = [['', 'all'], ...QUEUES.map((name) => [name, name])]
  const overview = useResource('/admin/overview', { everyMs: COUNTS_EVERY_MS })
  const doubts = useResource(withQuery('/admin/operations', { status: 'unknown', limit: 100 }))
  const reload = () => {
    list.reload()
    overview.reload()
    doubts.reload()
  }
  const unknown = new Set(doubts.value?.data.map((/** @type {{ id: string }} */ { id }) => id))
  const cells = cellsWith(unknown, reload)
  const counts = overview.value?.dead_letters ?? {}
  const filled = QUEUES.filter((name) => counts[name] > 0 && (queue === '' || queue === name))
  return html`
    <h1>Dead letters</h1>
    <p>
      Jobs that used up their retries. Nothing is executed twice when one is redriven: what may have
      been executed is looked up first. The doubt about an operation ends on the page of the
      operation, to which its dead letter leads.
    </p>
    <${Filters} ...${{ route, problem: list.problem }}>
      <${ChoiceFilter} label="Queue" name="queue" value=${queue} options=${options} />
    <//>
    <p class="buttons">
      ${filled.map(
        (name) =>
          html`<${RedriveQueue} key=${name} queue=${name} count=${counts[name]} done=${reload} />`,
      )}
    </p>
    <${List}
      ...${{ list, route, cells }}
      caption="Dead letters, newest first"
      columns=${COLUMNS}
      empty="No dead letter."
    />
  `
}

/** @param {ReadonlySet<string>} unknown operations whose outcome is. @param {() => void} done */
const cellsWith = (unknown, done) => (/** @type {any} */ letter) => [
  html`<${Id} id=${letter.about} /> ${
      unknown.has(letter.about) &&
      html`<br /><a href=${hrefOf('operations', {}, letter.about)}
          ><${Status} status="unknown" tone="bad" /> resolve it there</a
        >`
    }`,
  letter.queue,
  html`<${Action}
    label="Redrive"
    name=${`Redrive ${letter.about ?? letter.id}`}
    title="Try this job again?"
    done=${done}
    show=${showRedrive}
    run=${() => redrive({ queue: letter.queue, ids: [letter.id] })}
  >
    <p>It goes back to its queue with all its retries. If nothing is left to do, it is removed.</p>
    <${MovesMoney} queue=${letter.queue} />
  <//>`,
  html`<${Foreign} text=${letter.last_error} />${' '}
    <span class="quiet">after ${plural(letter.retries ?? 0, 'retry', 'retries')}</span>`,
  html`<${Time} at=${letter.died_at} />`,
  html`<${Members} value=${letter.job} label=${`The job ${letter.id}`} />`,
]

/** How many the service redrives at a time. */
const REDRIVE_MAX = 100

/** @param {{ queue: string, count: number, done: () => void }} props */
function RedriveQueue({ queue, count, done }) {
  const jobs = count > REDRIVE_MAX ? `the ${REDRIVE_MAX} oldest` : plural(count, 'job')
  return html`<${Action}
    label=${`Redrive ${jobs} of ${queue}`}
    title=${`Try ${jobs} of ${queue} again?`}
    done=${done}
    show=${showRedrive}
    run=${() => redrive({ queue })}
  >
    <p>They go back to their queue, each with all its retries.</p>
    <${MovesMoney} queue=${queue} />
  <//>`
}

/** @param {{ queue: string }} props */
const MovesMoney = ({ queue }) => queue === 'operations.dead' && html`<p>${MOVES_MONEY}</p>`

/** @param {{ queue: string, ids?: string[] }} body */
const redrive = (body) => change('POST', '/admin/dead-letters/redrive', body)

/** @param {import('../client/operators-schema.ts').components['schemas']['Redrive']} result */
function showRedrive({ redriven, needless, kept }) {
  return html`
    <p>
      ${plural(redriven, 'job')} redriven, ${needless} removed as needless, ${kept.length} kept.
    </p>
    ${
      kept.length > 0 &&
      html`<ul>
        ${kept.map(({ id, reason }) => html`<li><code>${id}</code>: ${reason}</li>`)}
      </ul>`
    }
  `
}
