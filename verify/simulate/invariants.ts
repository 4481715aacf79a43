// Checks the promises of the service by comparing independent records: the provider's log, the
// answers that the clients got, and the lists of the API. The checks are pure: they neither read
// nor wait.
import type { Payment } from '../../client/index.ts'
import { type History, isDone, isFinal, LABEL_FIELD, type Operation } from './history.ts'
import type { Executed } from './faults.ts'
import type { LedgerBalance, Records } from './records.ts'

export interface Verdict {
  /** The number of the invariant of ARCHITECTURE.md that the promise belongs to. */
  readonly invariant: number
  readonly promise: string
  /** Number of objects checked. */
  readonly checked: number
  /** One text per violation, with the ids. */
  readonly broken: readonly string[]
}

interface Facts {
  readonly history: History
  readonly records: Records
  /** The provider calls executed for a payment, by the payment id in their metadata. */
  readonly executedFor: (paymentId: string) => readonly Executed[]
}

export function ofKind(executed: readonly Executed[], kind: string): Executed[] {
  return executed.filter((entry) => entry.kind === kind)
}

/** What the refunds took from the captured money at the provider, in minor units. */
function refundedAt(executed: readonly Executed[]): number {
  return sumOf(ofKind(executed, 'refund.create')) - sumOf(ofKind(executed, 'refund.fail'))
}

/** What the disputes took from the captured money, less what they gave back, and their fees. */
function disputedAt(executed: readonly Executed[]): { amount: number; fees: number } {
  const [taken, returned] = ['dispute.withdraw', 'dispute.reinstate'].map((kind) =>
    sumOf(ofKind(executed, kind)),
  )
  return { amount: (taken ?? 0) - (returned ?? 0), fees: sumOf(ofKind(executed, 'dispute.fee')) }
}

export function sumOf(executed: readonly Executed[]): number {
  return executed.reduce((sum, { amount }) => sum + amount, 0)
}

function checkLedger({ records, executedFor }: Facts): Pick<Verdict, 'checked' | 'broken'> {
  const byPayment = Map.groupBy(records.ledger, ({ payment }) => payment)
  const broken = records.payments.flatMap(({ id, currency }) => {
    const captured = sumOf(ofKind(executedFor(id), 'payment_intent.capture'))
    const refunded = refundedAt(executedFor(id))
    const disputed = disputedAt(executedFor(id))
    const posted = balancesOf((byPayment.get(id) ?? []).flatMap(({ entries }) => entries))
    const at = (account: string) => posted.get(`${account} ${currency}`) ?? 0
    const isOfIts = [...posted.keys()].every((name) => name.endsWith(` ${currency}`))
    const owed = at('merchant_payable') + at('fees')
    const agrees =
      isOfIts &&
      at('provider_receivable') + at('provider_fees') === captured - refunded - disputed.amount &&
      owed === -captured &&
      at('refunds') === refunded &&
      at('disputes') === disputed.amount &&
      // A reconciliation also posts the fees of captures and refunds.
      at('provider_fees') >= disputed.fees
    if (agrees) return []
    const shown = [...posted].map(([account, amount]) => `${account} ${amount}`).join(', ')
    return [
      `${id}: ${captured} captured, ${refunded} refunded and ${disputed.amount} disputed, ledger: ${shown || 'nothing'}`,
    ]
  })
  return { checked: records.payments.length, broken }
}

function checkBalances({ records }: Facts): Pick<Verdict, 'checked' | 'broken'> {
  const expected = balancesOf(records.balancesBefore)
  for (const entry of records.ledger.flatMap(({ entries }) => entries)) {
    add(expected, entry)
  }
  const shown = balancesOf(records.balancesAfter)
  const names = new Set([...expected.keys(), ...shown.keys()])
  const broken = [...names].flatMap((name) => {
    const [sum, balance] = [expected.get(name) ?? 0, shown.get(name) ?? 0]
    return sum === balance ? [] : [`${name}: ${sum} posted, ${balance} shown`]
  })
  return { checked: names.size, broken }
}

function balancesOf(balances: readonly Omit<LedgerBalance, 'object'>[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const balance of balances) add(sums, balance)
  return sums
}

function add(
  sums: Map<string, number>,
  { account, currency, amount }: { account: string; currency: string; amount: number },
): void {
  const name = `${account} ${currency}`
  sums.set(name, (sums.get(name) ?? 0) + amount)
}

type Check = (facts: Facts) => Pick<Verdict, 'checked' | 'broken'>

// prettier-ignore
const checks: readonly [number, string, Check][] = [
  [1, 'Succeeded payments were captured once, for the exact amount',  checkCaptures],
  [1, 'No payment was authorised twice at the provider',              checkAuthorizations],
  [1, 'No payment was executed at two providers',                     checkProviders],
  [5, 'Declined, failed, canceled or held payments moved no money',   checkUnpaid],
  [5, "The provider's refunds match those on record",                 checkRefunds],
  [1, 'No payment was refunded beyond its capture',                   checkRefundedAmounts],
  [1, 'Refused requests left no trace',                               checkRefused],
  [3, 'Reused keys and invalid requests were refused',                checkRefusals],
  [3, 'Each key had one answer, byte for byte',                       checkAnswers],
  [2, 'Answers to clients match the records',                         checkClientAnswers],
  [5, "The ledger matches the provider's log",                        checkLedger],
  [4, 'Balances are the sum of the ledger',                           checkBalances],
  [7, 'Every operation has a final answer',                           checkFinal],
]

export function checkInvariants(history: History, records: Records): Verdict[] {
  const byPayment = Map.groupBy(records.executed, ({ metadata }) => metadata['atomic_payment'])
  const facts = { history, records, executedFor: (id: string) => byPayment.get(id) ?? [] }
  return checks.map(([invariant, promise, check]) => ({ invariant, promise, ...check(facts) }))
}

function checkCaptures({ history, records, executedFor }: Facts) {
  const wanted = expectedCaptures(history)
  const succeeded = records.payments.filter(({ status }) => status === 'succeeded')
  const broken = succeeded.flatMap((payment) => {
    const captures = ofKind(executedFor(payment.id), 'payment_intent.capture')
    const [only] = captures
    const amount = wanted.get(payment.id) ?? payment.amount_captured
    const isExact =
      captures.length === 1 &&
      only?.amount === amount &&
      payment.amount_captured === amount &&
      only.currency === payment.currency
    if (isExact) return []
    return [`${payment.id}: ${amount} ${payment.currency} expected, ${showAll(captures)}`]
  })
  return { checked: succeeded.length, broken }
}

/** The amounts that the clients asked to capture, by payment. */
function expectedCaptures({ operations }: History): Map<string, number> {
  const wanted = new Map<string, number>()
  for (const operation of operations) {
    const { content, answers } = operation
    const id = answers[0]?.resource.id
    if (content.kind === 'payment.create' && content.body.capture_method === 'automatic') {
      if (id !== undefined) wanted.set(id, content.body.amount)
    }
    if (content.kind === 'payment.capture') wanted.set(content.paymentId, content.amount)
  }
  return wanted
}

function checkAuthorizations({ records }: Facts) {
  const authorizations = records.executed.filter(({ kind }) => AUTHORIZING.includes(kind))
  const labelOf = labelsOf(records)
  const byIntention = Map.groupBy(
    authorizations,
    (entry) => labelOf(entry) ?? entry.metadata['atomic_payment'] ?? entry.id,
  )
  const released = new Set(ofKind(records.executed, 'payment_intent.cancel').map(({ id }) => id))
  const broken = [...byIntention.values()].flatMap((own) => {
    // A hold that the provider completed late is released: see `hold.release`.
    if (own.length === 1 || own.filter(({ id }) => !released.has(id)).length === 1) return []
    return [`${own[0]?.metadata['atomic_payment'] ?? 'unknown payment'}: ${showAll(own)}`]
  })
  return { checked: byIntention.size, broken }
}

/** Not even one after the other: nothing was executed at the provider that a payment has left. */
function checkProviders({ records }: Facts) {
  const byPayment = Map.groupBy(
    records.executed.filter(({ metadata }) => metadata['atomic_payment'] !== undefined),
    ({ metadata }) => metadata['atomic_payment'],
  )
  const broken = [...byPayment].flatMap(([id, own]) =>
    new Set(own.map(({ provider }) => provider)).size <= 1 ? [] : [`${id}: ${showAll(own)}`],
  )
  return { checked: byPayment.size, broken }
}

/** The label of the request for which a call was executed. Refunds of canceled keys have none of their own. */
function labelsOf({ payments }: Records): (entry: Executed) => string | undefined {
  const labels = new Map(payments.map(({ id, metadata }) => [id, metadata[LABEL_FIELD]]))
  return ({ metadata }) => metadata[LABEL_FIELD] ?? labels.get(metadata['atomic_payment'] ?? '')
}

const AUTHORIZING = ['payment_intent.create', 'payment_intent.confirm']
const UNPAID = ['declined', 'failed', 'canceled', 'requires_capture', 'requires_action']

function checkUnpaid({ records, executedFor }: Facts) {
  const unpaid = records.payments.filter(({ status }) => UNPAID.includes(status))
  const broken = unpaid.flatMap((payment) => {
    const executed = executedFor(payment.id)
    if (isUnpaid(payment, executed)) return []
    return [`${payment.id} is ${payment.status}: ${showAll(executed)}`]
  })
  return { checked: unpaid.length, broken }
}

function isUnpaid({ status, amount_captured: captured }: Payment, executed: readonly Executed[]) {
  const moved = [
    ...ofKind(executed, 'payment_intent.capture'),
    ...ofKind(executed, 'refund.create'),
  ]
  const held = executed.filter(({ kind }) => AUTHORIZING.includes(kind)).length
  const canceled = ofKind(executed, 'payment_intent.cancel')
  // A cancel before the authentication releases nothing.
  const released = canceled.filter(({ amount }) => amount > 0).length
  if (moved.length > 0 || captured > 0) return false
  if (status === 'requires_capture') return held - released === 1
  // A payment that has ended holds nothing.
  return status === 'canceled' || status === 'declined' ? held === released : true
}

const GIVEN_STATUSES = ['succeeded', 'pending', 'requires_action']

/** The refunds whose money the provider has returned, because they failed. */
function returnedRefunds(executed: readonly Executed[]): Set<string> {
  const failed = ofKind(executed, 'refund.fail')
  return new Set(failed.map(({ metadata }) => metadata['atomic_refund'] ?? ''))
}

function checkRefunds({ records }: Facts) {
  const returned = returnedRefunds(records.executed)
  const executed = ofKind(records.executed, 'refund.create')
  const byRefund = Map.groupBy(executed, ({ metadata }) => metadata['atomic_refund'])
  const recorded = new Map(records.refunds.map((refund) => [refund.id, refund]))
  const onRecord = records.refunds.flatMap((refund) => {
    const own = byRefund.get(refund.id) ?? []
    const isExact = own.length === 1 && own[0]?.amount === refund.amount
    const hasReturned = returned.has(refund.id)
    const isGiven = GIVEN_STATUSES.includes(refund.status) && !hasReturned
    const isBack = refund.status === 'failed' && hasReturned
    if (isGiven || isBack ? isExact : own.length === 0) return []
    return [`${refund.id}: ${refund.status}, ${refund.amount} on record, ${showAll(own)}`]
  })
  const unrecorded = executed.flatMap((entry) => {
    const known = recorded.has(entry.metadata['atomic_refund'] ?? '')
    return known ? [] : [`not on record: ${showAll([entry])}`]
  })
  return { checked: recorded.size, broken: [...onRecord, ...unrecorded] }
}

function checkRefundedAmounts({ records, executedFor }: Facts) {
  const refunded = records.payments.filter(
    ({ id }) => ofKind(executedFor(id), 'refund.create').length > 0,
  )
  const broken = refunded.flatMap(({ id }) => {
    const captured = sumOf(ofKind(executedFor(id), 'payment_intent.capture'))
    const refundedMinor = refundedAt(executedFor(id))
    return refundedMinor <= captured
      ? []
      : [`${id}: ${captured} captured, ${refundedMinor} refunded`]
  })
  return { checked: refunded.length, broken }
}

/** Finds payments and executions of refused requests, or of requests that this run did not send. */
function checkRefused({ history, records }: Facts) {
  const sentLabels = new Set(history.operations.map(({ label }) => label))
  const labelOf = labelsOf(records)
  const payments = records.payments
    .filter(({ metadata }) => !sentLabels.has(metadata[LABEL_FIELD] ?? ''))
    .map(({ id, metadata }) => `${id} on record for ${metadata[LABEL_FIELD] ?? 'no request'}`)
  const accepted = new Set(records.payments.map(({ id }) => id))
  const executed = records.executed
    .filter(
      (entry) =>
        !sentLabels.has(labelOf(entry) ?? '') ||
        !accepted.has(entry.metadata['atomic_payment'] ?? ''),
    )
    .map((entry) => `${labelOf(entry) ?? 'no request'}: ${showAll([entry])}`)
  return { checked: history.refused.length, broken: [...payments, ...executed] }
}

function checkRefusals({ history }: Facts) {
  const answered = history.refused.filter(({ answer }) => answer !== undefined && isFinal(answer))
  const broken = answered.flatMap(({ key, label, why, answer }) => {
    const status = answer?.status ?? 0
    const isRefused =
      why === 'reuse'
        ? [400, 422].includes(status) && answer?.problem === 'idempotency-key-reused'
        : status >= 400
    return isRefused ? [] : [`${label} with key ${key}: ${status}`]
  })
  return { checked: answered.length, broken }
}

function checkAnswers({ history, records }: Facts) {
  const repeated = history.operations.filter(({ answers }) => answers.length > 1)
  const different = repeated.flatMap(({ key, answers, droppedAfter = answers.length }) =>
    [answers.slice(0, droppedAfter), answers.slice(droppedAfter)].flatMap((equal) => {
      const count = new Set(equal.map(({ status, digest }) => `${status} ${digest}`)).size
      return count <= 1 ? [] : [`${key}: ${count} different answers`]
    }),
  )
  const replayed = history.operations.flatMap(({ key, answers, droppedAfter }) =>
    answers
      .slice(droppedAfter ?? answers.length)
      .filter(({ status }) => status !== GONE)
      .map(({ status }) => `${key}: answered ${status} after its response was dropped`),
  )
  const labels = new Map(records.payments.map(({ id, metadata }) => [id, metadata[LABEL_FIELD]]))
  const created = history.operations.filter(({ content }) => content.kind === 'payment.create')
  const ofOthers = created.flatMap(({ key, label, answers: [first] }) => {
    const owner = labels.get(first?.resource.id ?? '') ?? label
    return owner === label ? [] : [`${key}: the answer is about ${owner}, not ${label}`]
  })
  const broken = [...different, ...replayed, ...ofOthers]
  return { checked: repeated.length + created.length, broken }
}

const GONE = 410

function checkClientAnswers({ history, records }: Facts) {
  const known = new Map(
    [...records.payments, ...records.refunds].map((one) => [one.id, one.status]),
  )
  const returned = returnedRefunds(records.executed)
  const done = history.operations.filter((operation) => isDone(operation))
  const broken = done.flatMap(({ key, answers: [first] }) => {
    const { id = 'nothing', status } = first?.resource ?? {}
    const now = known.get(id)
    // A payment in an open status may change later, and a refund can fail after it succeeded. All
    // other statuses must stay as answered.
    const mayChange = OPEN_STATUSES.includes(status) || returned.has(id)
    const isSame = mayChange ? now !== undefined : now === status
    return isSame ? [] : [`${id}, key ${key}: answered ${status}, is ${now ?? 'not on record'}`]
  })
  return { checked: done.length, broken }
}

const OPEN_STATUSES: readonly (string | undefined)[] = [
  'requires_capture',
  'requires_action',
  'pending',
]
const PENDING_STATUSES = ['processing', 'unknown']

function checkFinal({ history, records }: Facts) {
  const operations = history.operations
    .filter(({ answers }) => answers.length === 0)
    .map(({ key, content, pending }) => `${content.kind}, key ${key}: ${showPending(pending)}`)
  const resources = [...records.payments, ...records.refunds]
    .filter(({ status }) => PENDING_STATUSES.includes(status))
    .map(({ id, status }) => `${id} is ${status}`)
  return { checked: history.operations.length, broken: [...operations, ...resources] }
}

function showPending(pending: Operation['pending']): string {
  return pending === undefined ? 'no answer' : `${pending.status} ${pending.problem ?? ''}`.trim()
}

function showAll(executed: readonly Executed[]): string {
  if (executed.length === 0) return 'nothing executed'
  return executed
    .map(({ kind, id, amount, currency }) => `${kind} ${id} ${amount} ${currency}`)
    .join(', ')
}
