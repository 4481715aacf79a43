// Checks the promises of the service by comparing independent records: the provider's log, the
// answers that the clients got, and the lists of the API. The checks are pure: they neither read
// nor wait.
import type { Payment } from '../../client/index.ts'
import { type History, isDone, isFinal, LABEL_FIELD, type Operation } from './history.ts'
import type { Executed } from './faults.ts'
import type { LedgerBalance, Records } from './records.ts'
import { addCount, type Counts } from './counts.ts'

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

type Checked = Pick<Verdict, 'checked' | 'broken'>
type Check = (facts: Facts) => Checked

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

/** Checks each item. The finder describes what is broken; `false` says that nothing is. */
function checkEach<Item>(items: readonly Item[], find: (item: Item) => string | false): Checked {
  return { checked: items.length, broken: items.map(find).filter((text) => text !== false) }
}

export function ofKind(executed: readonly Executed[], ...kinds: readonly string[]): Executed[] {
  return executed.filter(({ kind }) => kinds.includes(kind))
}

export function sumOf(executed: readonly Executed[]): number {
  return executed.reduce((sum, { amount }) => sum + amount, 0)
}

/** The sum of the calls of these kinds, in minor units. */
function sumOfKind(executed: readonly Executed[], kind: string): number {
  return sumOf(ofKind(executed, kind))
}

/** What the refunds took from the captured money at the provider. */
function refundedAt(executed: readonly Executed[]): number {
  return sumOfKind(executed, 'refund.create') - sumOfKind(executed, 'refund.fail')
}

function checkLedger({ records, executedFor }: Facts): Checked {
  const byPayment = Map.groupBy(records.ledger, ({ payment }) => payment)
  return checkEach(records.payments, ({ id, currency }) => {
    const executed = executedFor(id)
    const captured = sumOfKind(executed, 'payment_intent.capture')
    const refunded = refundedAt(executed)
    // What the disputes took from the captured money, less what they gave back.
    const disputed =
      sumOfKind(executed, 'dispute.withdraw') - sumOfKind(executed, 'dispute.reinstate')
    const posted = balancesOf((byPayment.get(id) ?? []).flatMap(({ entries }) => entries))
    const at = (account: string) => posted.get(`${account} ${currency}`) ?? 0
    const agrees =
      [...posted.keys()].every((name) => name.endsWith(` ${currency}`)) &&
      at('provider_receivable') + at('provider_fees') === captured - refunded - disputed &&
      at('merchant_payable') + at('fees') === -captured &&
      at('refunds') === refunded &&
      at('disputes') === disputed &&
      // A reconciliation also posts the fees of captures and refunds.
      at('provider_fees') >= sumOfKind(executed, 'dispute.fee')
    const shown = [...posted].map(([account, amount]) => `${account} ${amount}`).join(', ')
    const moved = `${captured} captured, ${refunded} refunded and ${disputed} disputed`
    return !agrees && `${id}: ${moved}, ledger: ${shown || 'nothing'}`
  })
}

function checkBalances({ records }: Facts): Checked {
  const posted = records.ledger.flatMap(({ entries }) => entries)
  const expected = balancesOf([...records.balancesBefore, ...posted])
  const shown = balancesOf(records.balancesAfter)
  return checkEach([...new Set([...expected.keys(), ...shown.keys()])], (name) => {
    const [sum, balance] = [expected.get(name) ?? 0, shown.get(name) ?? 0]
    return sum !== balance && `${name}: ${sum} posted, ${balance} shown`
  })
}

function balancesOf(entries: readonly Omit<LedgerBalance, 'object'>[]): Counts {
  const sums: Counts = new Map()
  for (const { account, currency, amount } of entries)
    addCount(sums, `${account} ${currency}`, amount)
  return sums
}

function checkCaptures({ history, records, executedFor }: Facts): Checked {
  const wanted = expectedCaptures(history)
  const succeeded = records.payments.filter(({ status }) => status === 'succeeded')
  return checkEach(succeeded, ({ id, currency, amount_captured: captured }) => {
    const captures = ofKind(executedFor(id), 'payment_intent.capture')
    const amount = wanted.get(id) ?? captured
    const isExact =
      captures.length === 1 &&
      captures[0]?.amount === amount &&
      captured === amount &&
      captures[0].currency === currency
    return !isExact && `${id}: ${amount} ${currency} expected, ${showAll(captures)}`
  })
}

/** The amounts that the clients asked to capture, by payment. */
function expectedCaptures({ operations }: History): Map<string, number> {
  const wanted = new Map<string, number>()
  for (const { content, answers } of operations) {
    const id = answers[0]?.resource.id
    if (content.kind === 'payment.create' && content.body.capture_method === 'automatic') {
      if (id !== undefined) wanted.set(id, content.body.amount)
    }
    if (content.kind === 'payment.capture') wanted.set(content.paymentId, content.amount)
  }
  return wanted
}

const AUTHORIZING = ['payment_intent.create', 'payment_intent.confirm']

function checkAuthorizations({ records }: Facts): Checked {
  const labelOf = labelsOf(records)
  const byIntention = Map.groupBy(
    ofKind(records.executed, ...AUTHORIZING),
    (entry) => labelOf(entry) ?? entry.metadata['atomic_payment'] ?? entry.id,
  )
  const released = new Set(ofKind(records.executed, 'payment_intent.cancel').map(({ id }) => id))
  return checkEach([...byIntention.values()], (own) => {
    // A hold that the provider completed late is released: see `hold.release`.
    const isOnce = own.length === 1 || own.filter(({ id }) => !released.has(id)).length === 1
    return !isOnce && `${own[0]?.metadata['atomic_payment'] ?? 'unknown payment'}: ${showAll(own)}`
  })
}

/** Not even one after the other: nothing was executed at the provider that a payment has left. */
function checkProviders({ records }: Facts): Checked {
  const byPayment = Map.groupBy(
    records.executed.filter(({ metadata }) => metadata['atomic_payment'] !== undefined),
    ({ metadata }) => metadata['atomic_payment'],
  )
  return checkEach(
    [...byPayment],
    ([id, own]) =>
      new Set(own.map(({ provider }) => provider)).size > 1 && `${id}: ${showAll(own)}`,
  )
}

/** The label of the request for which a call was executed. Refunds of canceled keys have none of their own. */
function labelsOf({ payments }: Records): (entry: Executed) => string | undefined {
  const labels = new Map(payments.map(({ id, metadata }) => [id, metadata[LABEL_FIELD]]))
  return ({ metadata }) => metadata[LABEL_FIELD] ?? labels.get(metadata['atomic_payment'] ?? '')
}

const UNPAID = ['declined', 'failed', 'canceled', 'requires_capture', 'requires_action']

function checkUnpaid({ records, executedFor }: Facts): Checked {
  const unpaid = records.payments.filter(({ status }) => UNPAID.includes(status))
  return checkEach(unpaid, (payment) => {
    const executed = executedFor(payment.id)
    return (
      !isUnpaid(payment, executed) && `${payment.id} is ${payment.status}: ${showAll(executed)}`
    )
  })
}

function isUnpaid({ status, amount_captured: captured }: Payment, executed: readonly Executed[]) {
  const moved = ofKind(executed, 'payment_intent.capture', 'refund.create')
  const held = ofKind(executed, ...AUTHORIZING).length
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

function checkRefunds({ records }: Facts): Checked {
  const returned = returnedRefunds(records.executed)
  const executed = ofKind(records.executed, 'refund.create')
  const byRefund = Map.groupBy(executed, ({ metadata }) => metadata['atomic_refund'])
  const recorded = new Set(records.refunds.map(({ id }) => id))
  const onRecord = checkEach(records.refunds, ({ id, status, amount }) => {
    const own = byRefund.get(id) ?? []
    const hasReturned = returned.has(id)
    const isGiven = GIVEN_STATUSES.includes(status) && !hasReturned
    const isBack = status === 'failed' && hasReturned
    const isExact = own.length === 1 && own[0]?.amount === amount
    const isRight = isGiven || isBack ? isExact : own.length === 0
    return !isRight && `${id}: ${status}, ${amount} on record, ${showAll(own)}`
  })
  const unrecorded = checkEach(executed, (entry) => {
    const isKnown = recorded.has(entry.metadata['atomic_refund'] ?? '')
    return !isKnown && `not on record: ${showAll([entry])}`
  })
  return { checked: recorded.size, broken: [...onRecord.broken, ...unrecorded.broken] }
}

function checkRefundedAmounts({ records, executedFor }: Facts): Checked {
  const hasRefunds = ({ id }: Payment) => ofKind(executedFor(id), 'refund.create').length > 0
  return checkEach(records.payments.filter(hasRefunds), ({ id }) => {
    const captured = sumOfKind(executedFor(id), 'payment_intent.capture')
    const refunded = refundedAt(executedFor(id))
    return refunded > captured && `${id}: ${captured} captured, ${refunded} refunded`
  })
}

/** Finds payments and executions of refused requests, or of requests that this run did not send. */
function checkRefused({ history, records }: Facts): Checked {
  const sentLabels = new Set(history.operations.map(({ label }) => label))
  const labelOf = labelsOf(records)
  const accepted = new Set(records.payments.map(({ id }) => id))
  const payments = checkEach(records.payments, ({ id, metadata: { [LABEL_FIELD]: label } }) => {
    return !sentLabels.has(label ?? '') && `${id} on record for ${label ?? 'no request'}`
  })
  const executed = checkEach(records.executed, (entry) => {
    const label = labelOf(entry)
    const isKnown =
      sentLabels.has(label ?? '') && accepted.has(entry.metadata['atomic_payment'] ?? '')
    return !isKnown && `${label ?? 'no request'}: ${showAll([entry])}`
  })
  return { checked: history.refused.length, broken: [...payments.broken, ...executed.broken] }
}

function checkRefusals({ history }: Facts): Checked {
  const answered = history.refused.filter(({ answer }) => answer !== undefined && isFinal(answer))
  return checkEach(answered, ({ key, label, why, answer }) => {
    const status = answer?.status ?? 0
    const isRefused =
      why === 'reuse'
        ? [400, 422].includes(status) && answer?.problem === 'idempotency-key-reused'
        : status >= 400
    return !isRefused && `${label} with key ${key}: ${status}`
  })
}

function checkAnswers({ history, records }: Facts): Checked {
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

function checkClientAnswers({ history, records }: Facts): Checked {
  const known = new Map(
    [...records.payments, ...records.refunds].map((one) => [one.id, one.status]),
  )
  const returned = returnedRefunds(records.executed)
  return checkEach(history.operations.filter(isDone), ({ key, answers: [first] }) => {
    const { id = 'nothing', status } = first?.resource ?? {}
    const now = known.get(id)
    // A payment in an open status may change later, and a refund can fail after it succeeded. All
    // other statuses must stay as answered.
    const mayChange = OPEN_STATUSES.includes(status) || returned.has(id)
    const isSame = mayChange ? now !== undefined : now === status
    return !isSame && `${id}, key ${key}: answered ${status}, is ${now ?? 'not on record'}`
  })
}

const OPEN_STATUSES: readonly (string | undefined)[] = [
  'requires_capture',
  'requires_action',
  'pending',
]
const PENDING_STATUSES = ['processing', 'unknown']

function checkFinal({ history, records }: Facts): Checked {
  const operations = checkEach(history.operations, ({ key, content, answers, pending }) => {
    return answers.length === 0 && `${content.kind}, key ${key}: ${showPending(pending)}`
  })
  const resources = checkEach([...records.payments, ...records.refunds], ({ id, status }) => {
    return PENDING_STATUSES.includes(status) && `${id} is ${status}`
  })
  return { ...operations, broken: [...operations.broken, ...resources.broken] }
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
