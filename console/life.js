// Puts what happened to a payment in one order: requests, waits, work, events, webhooks and entries of
// the ledger. Waits are apart from work, because they have different causes.

/**
 * @typedef {import('../client/operators-schema.ts').components['schemas']} Schemas
 * @typedef {Schemas['PhaseRun'] & { operation_id?: string }} Run
 * @typedef {{ operations?: any[], runs?: Run[], events?: any[], deliveries?: any[], ledger?: any[] }} Life
 *
 * @typedef {object} Line
 * @property {'request' | 'wait' | 'takeover' | 'work' | 'event' | 'webhook' | 'ledger'} kind
 * @property {string} what
 * @property {number} from in milliseconds since 1970.
 * @property {number} to
 * @property {string} [tone]
 * @property {any} of what it is about.
 */

/** @param {string} time */
const ms = (time) => Date.parse(time)

/** @param {Life} life @returns {Line[]} in the order in which they began. */
export function linesOf({ operations = [], runs = [], events = [], deliveries = [], ledger = [] }) {
  const lines = [
    ...operations.flatMap((operation) => linesOfOperation(operation, runsOf(operation, runs))),
    ...events.map((event) => point('event', event.type, event)),
    ...deliveries.flatMap(linesOfDelivery),
    ...ledger.map((transaction) => point('ledger', transaction.kind, transaction)),
  ]
  return lines.toSorted((one, other) => one.from - other.from)
}

/** @param {{ id: string }} operation @param {Run[]} runs */
const runsOf = ({ id }, runs) => runs.filter(({ operation_id: of = id }) => of === id)

/** @param {Line['kind']} kind @param {string} what @param {{ created_at: string }} of @returns {Line} */
const point = (kind, what, of) => ({
  kind,
  what,
  from: ms(of.created_at),
  to: ms(of.created_at),
  of,
})

/** @param {any} operation @param {Run[]} runs oldest first. @returns {Line[]} */
function linesOfOperation(operation, runs) {
  const lines = [point('request', operation.operation, operation)]
  /** @type {Run | undefined} */
  let before
  let freeSince = ms(operation.created_at)
  for (const run of runs) {
    if (run.phase !== null) {
      if (run.lease_epoch !== before?.lease_epoch) lines.push(waitFor(run, before, freeSince))
      lines.push(workOf(run))
      freeSince = ms(run.recorded_at)
    }
    before = run
  }
  return lines
}

/**
 * The time before a worker began. It is a takeover when the worker before has not recorded how it
 * ended: the last line of its lease has reached a recovery point, and the operation went on from it.
 *
 * @param {Run} run @param {Run | undefined} before @param {number} since @returns {Line}
 */
function waitFor(run, before, since) {
  const isTakeover = run.lease_epoch > 1 && before !== undefined && before.recovery_point !== null
  const from = Math.min(since, ms(run.started_at))
  const to = ms(run.started_at)
  if (isTakeover) {
    const what = `another worker takes over, lease epoch ${run.lease_epoch}`
    return { kind: 'takeover', what, from, to, tone: 'bad', of: run }
  }
  const what = run.lease_epoch > 1 ? 'waits to be tried again' : 'waits for a worker'
  return { kind: 'wait', what, from, to, of: run }
}

/** @param {Run} run @returns {Line} */
function workOf(run) {
  const outcome = run.provider?.outcome
  const tone = outcome === 'unknown' ? 'bad' : outcome === 'declined' ? 'busy' : 'good'
  const call = run.provider === null ? '' : run.provider.kind === 'look' ? ', a lookup' : ', a call'
  const what = `${run.phase}${call}${outcome === undefined ? '' : `: ${outcome.replace('_', ' ')}`}`
  // Tries are recorded together, when the last of them has ended.
  const to = ms(run.ended_at ?? run.recorded_at)
  return { kind: 'work', what, from: ms(run.started_at), to, tone, of: run }
}

/** @param {any} delivery @returns {Line[]} */
function linesOfDelivery(delivery) {
  return delivery.attempts.map((/** @type {any} */ attempt) => {
    const from = ms(attempt.started_at)
    const isReceived = attempt.http_status !== null && attempt.http_status < 300
    const what = `${delivery.event_type}: ${attempt.http_status ?? attempt.error}`
    const tone = isReceived ? 'good' : 'bad'
    return {
      kind: 'webhook',
      what,
      from,
      to: from + attempt.latency_ms,
      tone,
      of: { delivery, attempt },
    }
  })
}

/**
 * Returns where a time is on the chart, from 0 to 1. A payment takes milliseconds, its refund comes
 * days later: so each span between two moments is drawn by its logarithm.
 *
 * @param {Line[]} lines
 * @returns {(time: number) => number}
 */
export function scaleOf(lines) {
  const times = [...new Set(lines.flatMap(({ from, to }) => [from, to]))].toSorted((a, b) => a - b)
  let sum = 0
  const places = new Map(
    times.map((time, n) => {
      sum += n === 0 ? 0 : Math.log2(2 + time - (times[n - 1] ?? time))
      return [time, sum]
    }),
  )
  return (time) => (sum === 0 ? 0 : (places.get(time) ?? 0) / sum)
}
