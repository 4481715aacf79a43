// Checks the invariants of ARCHITECTURE.md on the store, by itself and against the provider. Each
// message begins with the number of its invariant.
import { showId } from '../../../src/domain/resource-id.ts'
import {
  clientKeyOf,
  isOfClient,
  keyOfName,
  operationIdOf,
  ownerOf,
  recordIdOf,
  SECOND_PROVIDER,
} from '../programs/ids.ts'
import type { Product } from '../programs/product.ts'
import { type Database, jsonOf, type Row, toText } from '../store/rows.ts'
import type { Refusals } from './search-context.ts'
import { FEES } from './canonical.ts'
import { keptFailures, type Provider, type ProviderRecord, recordOf } from './provider.ts'
import { AMOUNT_MINOR, type Space } from './space.ts'

/** Checks a store, a provider's state, and their agreement. */
export function checkState(
  product: Product,
  database: Database,
  provider: Provider,
  { oneReference }: Pick<Space, 'oneReference'>,
): string[] {
  const operations = Object.entries(provider).flatMap(([id, record]) =>
    checkExecutedOnce(id, record),
  )
  const keys = keysOf(database).flatMap((row) => checkKey(product, database, row, provider))
  return [
    ...operations,
    ...checkOneProvider(provider),
    ...keys,
    ...(oneReference ? checkOneCharge(provider) : []),
    ...checkRefunded(provider),
    ...checkReserved(database),
    ...checkAmounts(database),
    ...checkOneOperationPerKey(database),
    ...checkTimeline(database),
  ]
}

function checkExecutedOnce(id: string, record: ProviderRecord): string[] {
  const { key } = ownerOf(id)
  const times: readonly (readonly [string, number])[] = [
    ['authorized', record.authorized - lateHoldsOf(record)],
    ['captured', record.captured],
    ['refunded', record.refunded],
  ]
  const repeated = times
    .filter(([, count]) => count > 1)
    .map(([what, count]) => `1: key ${key} was ${what} ${count} times`)
  const isWithoutHold = record.authorized === 0 && (record.captured > 0 || record.canceled)
  return isWithoutHold
    ? [...repeated, `1: key ${key} was captured or canceled where nothing was authorized`]
    : repeated
}

/** No operation is executed at two providers, not even late. */
function checkOneProvider(provider: Provider): string[] {
  return Object.entries(provider).flatMap(([id, record]) =>
    isExecuted(record) && isExecuted(recordOf(provider, recordIdOf(id, SECOND_PROVIDER)))
      ? [`1: key ${ownerOf(id).key} was executed at two providers`]
      : [],
  )
}

const isExecuted = ({ authorized, captured, refunded, canceled }: ProviderRecord): boolean =>
  authorized + captured + refunded > 0 || canceled

/** Authorizations that the provider completed late. They may be second holds; nothing captures those. */
const lateHoldsOf = ({ completed }: ProviderRecord): number =>
  completed.filter((call) => call === 'authorize').length

/** Of all keys, which have one reference, one at most has charged or holds money, or has refunded. */
function checkOneCharge(provider: Provider): string[] {
  const records = Object.values(provider)
  const holding = records.filter(
    (record) => record.authorized > lateHoldsOf(record) && !record.canceled,
  )
  const refunding = records.filter(({ refunded }) => refunded > 0)
  return [holding, refunding]
    .filter(({ length }) => length > 1)
    .map(({ length }) => `1: ${length} keys with one reference were executed`)
}

function checkRefunded(provider: Provider): string[] {
  const sum = Object.values(provider).reduce((total, { refundedMinor }) => total + refundedMinor, 0)
  return sum > AMOUNT_MINOR ? [`1: the provider refunded ${sum} of ${AMOUNT_MINOR}`] : []
}

/** Refunds that succeeded or are in progress never exceed the captured amount. */
function checkReserved(database: Database): string[] {
  const reserved = (database['refunds'] ?? []).filter(({ status }) => RESERVING.has(toText(status)))
  const sum = reserved.reduce((total, row) => total + Number(row['amount_minor']), 0)
  return sum > AMOUNT_MINOR ? [`1: refunds reserve ${sum} of ${AMOUNT_MINOR}`] : []
}

/** A payment's amounts equal the sums of its refunds in progress and of its successful refunds. */
function checkAmounts({ payments = [], refunds = [] }: Database): string[] {
  return payments.flatMap((payment) => {
    const refundsOfPayment = refunds.filter((refund) => refund['payment_id'] === payment['id'])
    const sumOf = (statuses: readonly string[]) =>
      refundsOfPayment
        .filter(({ status }) => statuses.includes(toText(status)))
        .reduce((sum, row) => sum + Number(row['amount_minor']), 0)
    const isSame =
      payment['amount_refunding_minor'] === sumOf(['processing', 'unknown']) &&
      payment['amount_refunded_minor'] === sumOf(['succeeded'])
    return isSame ? [] : ['1: the amounts of a payment differ from the sums of its refunds']
  })
}

const RESERVING = new Set(['processing', 'unknown', 'succeeded'])

/** A key has at most one operation. */
function checkOneOperationPerKey(database: Database): string[] {
  const keys = keysOf(database).map(({ key }) => toText(key))
  return new Set(keys).size === keys.length ? [] : ['1: a key has two operations']
}

/** Each recovery point is recorded at most once. */
function checkTimeline(database: Database): string[] {
  const runs = database['phase_runs'] ?? []
  const repeated = runs.find(({ id }) => toText(id).includes('#'))
  return repeated === undefined ? [] : [`6: ${toText(repeated['reached'])} was recorded twice`]
}

function checkKey(product: Product, database: Database, row: Row, provider: Provider): string[] {
  const record = recordOfRow(database, row, provider)
  return [
    ...checkElsewhere(row, record, provider),
    ...checkCancellation(database, row, provider),
    ...checkLedger(product, database, row, record),
    ...checkResource(database, row),
    ...(row['status'] === 'completed' ? checkCompleted(database, row, record) : []),
    ...(row['status'] === 'failed_retryable' ? checkNothingExecuted(row, record) : []),
    ...checkGeneration(row, record),
  ]
}

/** The record of the provider at which the payment is. */
function recordOfRow({ payments = [] }: Database, row: Row, provider: Provider): ProviderRecord {
  const payment = payments.find(({ id }) => id === row['payment_id'])
  return recordOf(provider, recordIdOf(toText(row['id']), toText(payment?.['provider'])))
}

/** Nothing is executed at the provider that the payment does not name. */
function checkElsewhere(row: Row, own: ProviderRecord, provider: Provider): string[] {
  const id = toText(row['id'])
  const { key } = ownerOf(id)
  const records = [id, recordIdOf(id, SECOND_PROVIDER)].map((one) => recordOf(provider, one))
  return records.some((record) => record !== own && isExecuted(record))
    ? [`5: key ${key} was executed at a provider that its payment does not name`]
    : []
}

/** The provider key changes only after a failure that the provider keeps under it. */
function checkGeneration({ id, key_generation }: Row, record: ProviderRecord): string[] {
  if (Number(key_generation) <= keptFailures(record)) return []
  return [`6: the provider key of ${toText(id)} changed, although it keeps no failure`]
}

/**
 * The ledger contains exactly the postings of what was recorded, and nothing that the provider did
 * not execute.
 */
function checkLedger(
  { postingsOfCapture, postingsOfRefund }: Product,
  database: Database,
  row: Row,
  record: ProviderRecord,
): string[] {
  const posted = (database['ledger_postings'] ?? [])
    .filter(({ operation_id }) => operation_id === row['id'])
    .map(({ debit, credit, amount_minor }) => ({ debit, credit, amountMinor: amount_minor }))
  const isRefund = row['refund_id'] !== null
  const minor = isRefund ? record.refundedMinor : record.capturedMinor
  const isUnexecuted = posted.length > 0 && minor === 0
  if (isUnexecuted) return ['5: the ledger has postings that the provider did not execute']
  const isSucceeded = row['status'] === 'completed' && row['response_status'] === 201
  const reached =
    isSucceeded ||
    (database['phase_runs'] ?? []).some(
      (run) => run['operation_id'] === row['id'] && movesMoney(run, row),
    )
  const expected = !reached
    ? []
    : isRefund
      ? postingsOfRefund(minor)
      : postingsOfCapture(minor, FEES)
  const isSame = jsonOf(sortRows(posted)) === jsonOf(sortRows(expected))
  return isSame ? [] : ['5: the ledger differs from what the provider executed']
}

/** Whether a line of the timeline means that money moved. */
function movesMoney({ reached }: Row, row: Row): boolean {
  if (row['refund_id'] === null) return reached === 'captured'
  return reached === 'finished' && row['response_status'] === 201
}

const sortRows = (rows: readonly object[]): string[] => rows.map(jsonOf).toSorted()

const RESOURCE_STATUS: Readonly<Record<string, string>> = {
  pending: 'processing',
  processing: 'processing',
  unknown: 'unknown',
  failed_retryable: 'failed',
}

/** The status of the resource agrees with the status of its operation. */
function checkResource(database: Database, row: Row): string[] {
  const resource = resourceOf(database, row)
  const isHeld = row['status'] === 'failed_retryable' && isKnownToProvider(resource)
  // Another operation cancels the hold.
  if (isHeld && row['cancellation'] !== null) return []
  const expected = isHeld ? 'requires_capture' : RESOURCE_STATUS[toText(row['status'])]
  if (expected === undefined || resource?.['status'] === expected) return []
  const actual = toText(resource?.['status'])
  return [`2: an operation is ${toText(row['status'])}, but its resource is ${actual}`]
}

const isKnownToProvider = (payment: Row | undefined): boolean =>
  typeof payment?.['provider_payment_id'] === 'string'

/** What a client is told about its cancellation is true at the provider. */
function checkCancellation(database: Database, row: Row, provider: Provider): string[] {
  const record = recordOfRow(database, row, provider)
  const refunds = refundsOfCancellation(row, provider)
  const refunded = refunds.filter((refund) => refund.refunded > 0).length
  const repeated =
    refunded > 1 && !hasRefundOfClient(database)
      ? [`1: the cancellation of ${toText(row['id'])} refunded ${refunded} times`]
      : []
  const problem = findFalseCancellation(database, row, record, provider)
  return problem === undefined
    ? repeated
    : [...repeated, `5: the cancellation is ${toText(row['cancellation'])}, but ${problem}`]
}

/** What a declined refund of the client leaves needs another refund. */
const hasRefundOfClient = ({ refunds = [] }: Database): boolean =>
  refunds.some(({ id }) => isOfClient(ownerOf(toText(id)).key))

function findFalseCancellation(
  database: Database,
  row: Row,
  record: ProviderRecord,
  provider: Provider,
): string | undefined {
  const isHeld =
    record.authorized > lateHoldsOf(record) && !record.canceled && record.captured === 0
  const moved = record.authorized + record.captured + record.refunded - lateHoldsOf(record)
  const { inFlight } = recordOf(provider, toText(row['id']))
  const mayMove = inFlight.some(({ call }) => call !== 'cancel')
  switch (row['cancellation']) {
    case 'prevented':
      return moved > 0 || mayMove ? 'a call moved money' : undefined
    case 'nothing_to_undo':
      return isHeld || record.captured + record.refunded > 0 ? 'money was moved' : undefined
    case 'undone':
      if (isHeld) return 'money is held'
      return record.capturedMinor === refundedMinorOf(database, row, provider)
        ? undefined
        : 'money was not returned'
    case 'refused':
      return isRefusedByProvider(row, record, provider) ? undefined : 'nothing was refused'
    default:
      return undefined
  }
}

/** A refund cannot be undone, and the provider may have refused to return the money of a payment. */
function isRefusedByProvider(row: Row, record: ProviderRecord, provider: Provider): boolean {
  return row['refund_id'] === null
    ? refundsOfCancellation(row, provider).some(({ declined }) => declined)
    : record.refunded === 1
}

/** What the provider returned of the payment, by all refunds. */
function refundedMinorOf({ refunds = [] }: Database, row: Row, provider: Provider): number {
  const own = refunds.filter(({ payment_id }) => payment_id === row['payment_id'])
  return own.reduce((sum, { id }) => {
    const { key, life } = ownerOf(toText(id))
    return sum + recordOf(provider, operationIdOf(key, life)).refundedMinor
  }, 0)
}

/** The provider's records of the refunds that the cancellation of an operation began. */
function refundsOfCancellation({ id }: Row, provider: Provider): ProviderRecord[] {
  const { key } = ownerOf(toText(id))
  const isOwn = (operationId: string) => {
    const other = ownerOf(operationId).key
    return !isOfClient(other) && clientKeyOf(other) === key
  }
  return Object.entries(provider).flatMap(([operationId, record]) =>
    isOwn(operationId) && record.refunded + Number(record.declined) > 0 ? record : [],
  )
}

/** A stored answer is true: at the provider, and in the resource. */
function checkCompleted(database: Database, row: Row, record: ProviderRecord): string[] {
  const status = Number(row['response_status'])
  const resource = toText(resourceOf(database, row)?.['status'])
  if (row['operation'] === 'payment.cancel') return status === 200 ? checkHoldEnded(resource) : []
  if (status === OVERTAKEN) return checkHoldEnded(resource)
  const count = row['refund_id'] === null ? record.captured : record.refunded
  if (status === 201) {
    if (!namesResource(row)) return ['3: the stored answer is about another resource']
    const isAmountRecorded =
      row['refund_id'] !== null ||
      resourceOf(database, row)?.['amount_captured_minor'] === record.capturedMinor
    const violations =
      resource === 'succeeded' && isAmountRecorded
        ? []
        : [`2: the stored answer is 201, but the resource is ${resource}`]
    return count === 1
      ? violations
      : [...violations, `5: the stored answer is 201, but the provider executed it ${count} times`]
  }
  if (status >= 500) return [`7: ${status} is stored as a final answer`]
  const isCanceled = status === 410
  const isWithoutEffect = status === 408 || isCanceled
  const expected = isWithoutEffect ? 'failed' : 'declined'
  const isCanceledPayment = isCanceled && resource === 'canceled' && row['refund_id'] === null
  const violations =
    resource === expected || isCanceledPayment
      ? []
      : [`2: the stored answer is ${status}, but the resource is ${resource}`]
  const effects = isWithoutEffect ? count + record.authorized - lateHoldsOf(record) : count
  const isHeld = isKnownToProvider(resourceOf(database, row)) && !record.canceled
  return effects === 0 && !isHeld
    ? violations
    : [...violations, `5: the stored answer is ${status}, but the provider executed it`]
}

/** The reaper's answer for an operation whose payment another one has ended. */
const OVERTAKEN = 409

const checkHoldEnded = (resource: string): string[] =>
  resource === 'canceled' ? [] : [`2: the payment is said to be canceled, but is ${resource}`]

function namesResource({ response_body, payment_id, refund_id }: Row): boolean {
  const id =
    refund_id === null ? showId('pay', toText(payment_id)) : showId('re', toText(refund_id))
  return toText(response_body).includes(id)
}

/** A client's retry may repeat an operation only if it is proved that nothing was executed. */
function checkNothingExecuted(row: Row, record: ProviderRecord): string[] {
  const count = row['refund_id'] === null ? executedAt(row, record) : record.refunded
  // The retry is in doubt, and repeats the call under the same provider key.
  const isLateRefund = record.completed.includes('refund') && row['phase_began_at'] !== null
  return count === 0 || isLateRefund
    ? []
    : ['5: an operation is failed_retryable, but the provider executed it']
}

/**
 * How often the call of the current recovery point of a payment was executed, except late: the state
 * of the payment, or the capture that must follow, keeps such a call from being harmful.
 */
function executedAt({ recovery_point: point }: Row, record: ProviderRecord): number {
  const { completed } = record
  switch (point) {
    case 'started':
    case 'moved':
      return record.authorized - lateHoldsOf(record)
    case 'authorized':
      return completed.includes('capture') ? 0 : record.captured
    case 'refused':
      return record.canceled && !completed.includes('cancel') ? 1 : 0
    default:
      return 0
  }
}

function resourceOf(database: Database, row: Row): Row | undefined {
  const isRefund = row['refund_id'] !== null
  const id = isRefund ? row['refund_id'] : row['payment_id']
  return database[isRefund ? 'refunds' : 'payments']?.find((resource) => resource['id'] === id)
}

const keysOf = (database: Database): readonly Row[] => database['idempotency_keys'] ?? []

/**
 * Whether every operation is completed and every cancellation has ended, or an operation is unknown
 * with no check left and an open finding for a person, or it has failed and its client knows that
 * another one with its reference supersedes it.
 */
export function haveAllOperationsEnded(database: Database, refusals: Refusals): boolean {
  return keysOf(database).every((row) => {
    if (isForPerson(database, row)) return true
    if (row['cancellation'] === 'in_progress') {
      const isSame = ({ payment_id }: Row) => payment_id === row['payment_id']
      return keysOf(database).some((other) => isSame(other) && isForPerson(database, other))
    }
    // A canceled operation that stopped half-way goes no further. The reaper completes it.
    return row['status'] === 'completed' || isCanceled(row) || isSuperseded(row, refusals)
  })
}

const isForPerson = (database: Database, row: Row): boolean =>
  row['status'] === 'unknown' && row['next_check_at'] === null && hasFinding(database, row)

const isCanceled = ({ status, cancellation }: Row): boolean =>
  status === 'failed_retryable' && cancellation !== null

const isSuperseded = ({ status, key }: Row, refusals: Refusals): boolean =>
  status === 'failed_retryable' && refusals[keyOfName(toText(key))] === 'superseded'

function hasFinding(database: Database, row: Row): boolean {
  return (database['reconciliation_findings'] ?? []).some(
    ({ operation_id, status, kind }) =>
      operation_id === row['id'] && status === 'open' && kind === 'outcome_unknown',
  )
}
