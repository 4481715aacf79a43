// Break it: makes payments, injects faults into the provider's stand-in and kills processes, with the
// counts of charges and payments beside it. Only with the stand-in of `npm start`.
import { Field } from '../../../console/action.js'
import { change } from '../../../console/api.js'
import { Counts, COUNTS } from './counts.js'
import { FAULTS, PLACES } from './faults.js'
import { plural } from '../../../console/format.js'
import { html } from '../../../console/html.js'
import { Press } from './press.js'
import { useResource } from '../../../console/resource.js'
import { Tour } from './tour.js'

const EVERY_MS = 1_000

const FAULTS_PATH = '/break/faults'

export function Break() {
  const counts = useResource(COUNTS, { everyMs: EVERY_MS })
  return html`
    <h1>Break it</h1>
    <p>
      Make payments, lose answers of the provider and kill processes, in any order. The provider is
      a stand-in: no money moves. Each card is charged once.
    </p>
    <div class="break">
      <${Counts} of=${counts} />
      <div>
        <h2>A tour in four steps</h2>
        <${Tour} />
        <h2>On your own</h2>
        <div class="tools">
          <${Traffic} left=${counts.value?.traffic_left ?? 0} />
          <${Kills} />
          <${Faults} />
        </div>
      </div>
    </div>
  `
}

const startTraffic = async (/** @type {Record<string, string>} */ fields) => {
  const body = {
    payments_per_second: Number(fields['payments_per_second']),
    seconds: Number(fields['seconds']),
  }
  await change('POST', '/break/traffic', body)
  return `Makes ${plural(body.payments_per_second, 'payment')} per second for ${plural(body.seconds, 'second')}. Each is repeated with its key until it has a final answer.`
}

const stopTraffic = async () => {
  await change('DELETE', '/break/traffic')
  return 'No more payments are made. Those that were accepted are completed.'
}

/** @param {{ left: number }} props the payments that will still be made. */
function Traffic({ left }) {
  const number = { type: 'number', required: true, min: 1 }
  return html`<section class="card" aria-labelledby="traffic">
    <h3 id="traffic">Traffic</h3>
    <${Press} label="Start traffic" run=${startTraffic}>
      <${Field}
        label="Payments per second"
        name="payments_per_second"
        max="50"
        ...${number}
        defaultValue="5"
      />
      <${Field} label="Seconds" name="seconds" max="300" ...${number} defaultValue="30" />
    <//>
    <p class="quiet">
      ${left > 0 ? `Traffic runs: ${plural(left, 'payment')} to go.` : 'No traffic runs.'}
    </p>
    <${Press} label="Stop traffic" run=${stopTraffic} notYet=${left > 0 ? undefined : ''} />
  </section>`
}

const addFault = async (/** @type {Record<string, string>} */ fields) => {
  const { fault, times, place = 'any', delay_ms: delay } = fields
  const { match, name } = PLACES[place] ?? { match: {}, name: 'any call' }
  const late = delay === '' ? {} : { delay_ms: Number(delay) }
  const body = { fault, match, times: Number(times), ...late }
  await change('POST', FAULTS_PATH, body)
  return `${fault} strikes ${name}, ${plural(body.times, 'time')}.`
}

const clearFaults = async () => {
  await change('DELETE', FAULTS_PATH)
  return 'There are no faults. What was late is executed.'
}

/** The name of the place, or what the fault matches. @param {object} match */
const nameOf = (match) =>
  Object.values(PLACES).find((place) => JSON.stringify(place.match) === JSON.stringify(match))
    ?.name ?? JSON.stringify(match)

/** The faults that have not struck yet. */
function Waiting() {
  const { value } = useResource(FAULTS_PATH, { everyMs: EVERY_MS })
  const faults = value?.data ?? []
  if (faults.length === 0) return html`<p class="quiet">No fault waits.</p>`
  return html`<p>These wait to strike:</p>
    <ul aria-label="Faults that wait">
      ${faults.map(
        (/** @type {{ fault: string, match: object, left: number }} */ { fault, match, left }) =>
          html`<li><code>${fault}</code> at ${nameOf(match)}, ${plural(left, 'time')}</li>`,
      )}
    </ul>`
}

function Faults() {
  return html`<section class="card" aria-labelledby="faults">
    <h3 id="faults">A fault of the provider</h3>
    <${Press} label="Add the fault" run=${addFault}>
      <${Choice} label="What the provider does" name="fault" options=${FAULTS} />
      <${Choice}
        label="Where it strikes"
        name="place"
        options=${Object.entries(PLACES).map(([place, { name }]) => [place, name])}
      />
      <${Field}
        label="How many calls"
        ...${{ name: 'times', type: 'number', required: true, min: 1, max: 1000 }}
        defaultValue="1"
      />
      <${Field}
        label="Delay in milliseconds"
        ...${{ name: 'delay_ms', type: 'number', min: 0, max: 600_000 }}
        hint="For faults that are late. By default 1 second; a minute for those that execute later."
      />
    <//>
    <${Waiting} />
    <${Press} label="Remove all faults" run=${clearFaults} />
  </section>`
}

/** @param {{ label: string, name: string, options: [string, string][] }} props */
function Choice({ label, name, options }) {
  return html`<label class="field">
    <span>${label}</span>
    <select name=${name}>
      ${options.map(
        ([value, text]) =>
          html`<option key=${value} value=${value}>
            ${name === 'fault' ? `${text} (${value})` : text}
          </option>`,
      )}
    </select>
  </label>`
}

/** @type {[string, string, string][]} */
const PROCESSES = [
  [
    'worker',
    'Kill the worker',
    'Another starts at once. What it worked on goes on when its lease expires.',
  ],
  ['api', 'Kill the API', 'Clients get no answer for a second, and repeat with their keys.'],
  ['webhooks', 'Kill the webhook worker', 'No payment waits for it.'],
]

function Kills() {
  return html`<section class="card" aria-labelledby="kills">
    <h3 id="kills">Processes</h3>
    ${PROCESSES.map(([process, label, then]) => {
      const run = async () => {
        await change('POST', '/break/kill', { process })
        return `Killed. ${then}`
      }
      return html`<${Press} key=${process} label=${label} danger=${true} run=${run} />`
    })}
  </section>`
}
