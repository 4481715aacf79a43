// What the steps of the guided tour do, and what they saw. Each begins without faults, so that what
// an earlier step left does not strike; one that injects a fault stops the traffic, which could take it.
import { change, read, withQuery } from '../../../console/api.js'
import { COUNTS } from './counts.js'
import { newKey } from './tour-key.js'

/**
 * @typedef {import('../server.ts').PaymentAnswer} Answer
 * @typedef {import('../server.ts').Counts} BreakCounts
 * @typedef {import('../../../client/operators-schema.ts').components['schemas']['Operation']} Operation
 * @typedef {{ seen: string, payment: string }} Result
 * @typedef {Result & { key: string, answer: Answer }} Paid
 * @typedef {(text: string, payment?: string) => void} Say
 */

const POLL_MS = 250
const PATIENCE_MS = 90_000

const CAPTURE = { path: '/v1/payment_intents/*/capture' }
const LOOK = { method: 'GET', path: '/v1/payment_intents/*' }

/** Shorter than a worker waits for the provider; longer than it takes to kill it. */
const DELAY_MS = 6_000

/** @returns {Promise<Paid>} */
export async function pay() {
  await change('DELETE', '/break/faults')
  const key = newKey()
  const answer = await payUntilFinal(key)
  const payment = idOf(answer)
  const { status } = JSON.parse(answer.body)
  const seen = `${answer.status}: the payment ${status}. Payments charged twice: ${(await readCounts()).charged_twice}.`
  return { seen, payment, key, answer }
}

/** @param {Paid} first @returns {Promise<Result>} */
export async function retry({ key, answer: first }) {
  const before = await readCounts()
  const second = await send(key)
  const after = await readCounts()
  const same = second.body === first.body && second.status === first.status
  const bytes = same ? 'the same bytes as before' : 'another answer than before'
  const replayed = second.headers['idempotent-replayed'] === 'true' ? ', marked as replayed' : ''
  const seen = `${second.status}: ${bytes}${replayed}. ${compare(before, after)}`
  return { seen, payment: idOf(first) }
}

/** @param {Say} say @returns {Promise<Result>} */
export async function killDuringCharge(say) {
  await becomeQuiet(say)
  await addFault({ fault: 'delay', match: CAPTURE, delay_ms: DELAY_MS })
  const before = await readCounts()
  const { key, payment } = await begin()
  say('The payment is on its way to the provider.', payment)
  await waitFor(async () => {
    const [{ recovery_point: point, status }, counts] = [await operationOf(key), await readCounts()]
    if (status === 'completed') {
      throw new Error(
        'The payment was completed before the kill: the fault struck another one. Try again when the traffic has ended.',
      )
    }
    return point === 'authorized' && counts.provider_executed > before.provider_executed
  })
  await change('POST', '/break/kill', { process: 'worker' })
  say(
    'The card is charged, and the worker that asked for it is dead. Its lease must expire.',
    payment,
  )
  const { lease_epoch: epoch } = await untilCompleted(key)
  const who =
    epoch > 1
      ? `The next worker took over with lease epoch ${epoch}, and finished.`
      : 'The worker finished before it was killed.'
  return { seen: `${who} ${await countOnce()}`, payment }
}

/** @param {Say} say @returns {Promise<Result>} */
export async function loseAnswer(say) {
  await becomeQuiet(say)
  await addFault({ fault: 'error_500_after', match: CAPTURE })
  await addFault({ fault: 'unavailable', match: LOOK })
  const { key, payment } = await begin()
  say('The payment is on its way to the provider.', payment)
  let wasUnknown = false
  await untilCompleted(key, ({ status }) => {
    if (status !== 'unknown' || wasUnknown) return
    wasUnknown = true
    say('The payment is unknown: the provider may have charged the card.', payment)
  })
  const was = wasUnknown ? 'It was unknown' : 'The answer was lost'
  return { seen: `${was}, and the charge was found at the provider. ${await countOnce()}`, payment }
}

/** For so long a step waits for other payments. One whose outcome is unknown can take hours. */
const QUIET_WITHIN_MS = 15_000

/** Stops the traffic, removes the faults, and waits for the payments in progress. @param {Say} say */
async function becomeQuiet(say) {
  await change('DELETE', '/break/traffic')
  await change('DELETE', '/break/faults')
  const end = performance.now() + QUIET_WITHIN_MS
  await waitFor(async () => {
    const { in_progress: others } = await readCounts()
    if (others > 0) say('The traffic is stopped. The payments in progress are completed first.')
    return others === 0 || performance.now() > end
  })
}

/** @param {string} key @param {boolean} [respondAsync] @returns {Promise<Answer>} */
const send = (key, respondAsync = false) =>
  change('POST', '/break/pay', { key, respond_async: respondAsync })

/** Repeats as a client does, until the answer is final. @param {string} key */
async function payUntilFinal(key) {
  return await waitFor(async () => {
    const answer = await send(key)
    return [202, 409].includes(answer.status) ? undefined : answer
  })
}

async function begin() {
  const key = newKey()
  return { key, payment: idOf(await send(key, true)) }
}

/** @param {Record<string, unknown>} fault */
const addFault = (fault) => change('POST', '/break/faults', fault)

/** @param {Answer} answer @returns {string} */
function idOf({ status, body }) {
  const { id, detail, title } = JSON.parse(body)
  if (typeof id === 'string') return id
  throw new Error(`The payment was answered with ${status}: ${detail ?? title}`)
}

/** @returns {Promise<BreakCounts>} */
const readCounts = () => readPatiently(COUNTS)

/** @param {string} key @returns {Promise<Operation>} */
async function operationOf(key) {
  const { data } = await readPatiently(withQuery('/break/operations', { idempotency_key: key }))
  return data[0]
}

/** @param {string} key @param {(operation: Operation) => void} [look] @returns {Promise<Operation>} */
async function untilCompleted(key, look = () => {}) {
  return await waitFor(async () => {
    const operation = await operationOf(key)
    look(operation)
    return operation.status === 'completed' && operation
  })
}

async function countOnce() {
  const { charged_twice: twice } = await readCounts()
  return twice === 0 ? 'One charge.' : `Payments charged twice: ${twice}.`
}

/** @param {BreakCounts} before @param {BreakCounts} after */
function compare(before, after) {
  const { provider_executed: executed, charged_twice: twice } = after
  return executed === before.provider_executed
    ? `The provider still counts ${executed}: no second charge.`
    : `Other payments are made meanwhile. Payments charged twice: ${twice}.`
}

/** Reads also while the API is being started again. @param {string} path @returns {Promise<any>} */
async function readPatiently(path) {
  return await waitFor(async () => {
    try {
      return await read(path, { background: true })
    } catch (error) {
      const { status } = /** @type {import('../../../console/api.js').Problem} */ (error)
      if (status === 0 || status >= 500) return undefined
      throw error
    }
  })
}

/**
 * @template Found
 * @param {() => Promise<Found | undefined | false>} find
 * @returns {Promise<Found>}
 */
async function waitFor(find) {
  const end = performance.now() + PATIENCE_MS
  while (performance.now() < end) {
    const found = await find()
    if (found !== undefined && found !== false) return found
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Error('It takes longer than expected. The page of the payment shows how it goes on.')
}
