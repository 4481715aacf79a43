// Models the payment providers: what each executed for an operation, which idempotency keys it
// remembers, and which calls are in flight. Their outcomes are those that the adapter derives from
// Stripe's answers, see `src/provider/stripe/calls/`.
import type { Outcome, Unknown } from '../../../src/domain/operations/outcome.ts'
import type { ProviderStatus } from '../../../src/domain/payments/provider-status.ts'
import { isAtSecond } from '../programs/ids.ts'
import type { CallRequest, ProviderCall } from '../programs/requests.ts'
import { AMOUNT_MINOR, type Space } from './space.ts'

/** A provider's record of one operation. */
export interface ProviderRecord {
  readonly authorized: number
  readonly captured: number
  readonly capturedMinor: number
  readonly refunded: number
  readonly refundedMinor: number
  /** The authorization is canceled: it can no longer be captured. */
  readonly canceled: boolean
  /** The operation was declined, and an object at the provider says so. */
  readonly declined: boolean
  /** By provider key: declined, a stored failure, or the ordinal number of the execution. */
  readonly remembered: Readonly<Record<string, 'declined' | 'failed' | number>>
  /** Calls whose failure is kept, and whose work the provider may complete later. */
  readonly unfinished: readonly CallRequest[]
  /** The calls that it completed later. */
  readonly completed: readonly ProviderCall[]
  /**
   * Calls whose caller no longer waits for an answer. In the record of the first provider, also those
   * to the second one.
   */
  readonly inFlight: readonly CallRequest[]
}

/** The records of both providers, by the ids of `recordIdOf`. */
export type Provider = Readonly<Record<string, ProviderRecord>>

const EMPTY_RECORD: ProviderRecord = {
  authorized: 0,
  captured: 0,
  capturedMinor: 0,
  refunded: 0,
  refundedMinor: 0,
  canceled: false,
  declined: false,
  remembered: {},
  unfinished: [],
  completed: [],
  inFlight: [],
}

/** A possible result of a call that reaches the provider. */
export interface Delivery {
  readonly label: string
  readonly provider: Provider
  readonly outcome: Outcome<unknown>
  /** Whether it is a fault of the provider. */
  readonly isFault?: true
}

export const recordOf = (provider: Provider, recordId: string): ProviderRecord =>
  provider[recordId] ?? EMPTY_RECORD

export function isLookup({ providerKey }: CallRequest): boolean {
  return providerKey === null
}

/**
 * The call reaches its provider. A provider without keys remembers none of them. The second one is
 * such a provider, and keeps no failures.
 */
export function deliver(
  provider: Provider,
  call: CallRequest,
  may: Pick<Space['provider'], 'declines' | 'fails' | 'keyless'>,
): Delivery[] {
  const isKeyless = may.keyless || isAtSecond(call.recordId)
  const deliveries = deliverUnderKey(provider, call, { ...may, fails: may.fails && !isKeyless })
  if (!isKeyless || isLookup(call)) return deliveries
  return deliveries.map((one) => ({ ...one, provider: forget(one.provider, call.recordId) }))
}

/** A provider key that it remembers gets the same answer again. */
function deliverUnderKey(
  provider: Provider,
  call: CallRequest,
  { declines, fails }: Pick<Space['provider'], 'declines' | 'fails'>,
): Delivery[] {
  const record = recordOf(provider, call.recordId)
  if (isLookup(call)) return [{ label: 'answered', provider, outcome: lookUp(record, call) }]
  const rememberedAnswer = record.remembered[call.providerKey ?? '']
  if (rememberedAnswer === 'failed') {
    return [{ label: 'failure replayed', provider, outcome: failed('certain') }]
  }
  if (rememberedAnswer !== undefined) {
    return [{ label: 'replayed', provider, outcome: outcomeOf(call, rememberedAnswer) }]
  }
  const isRefused = checkRefusal(provider, record, call)
  const done = isRefused === undefined ? [deliverExecuted(provider, record, call)] : []
  // A cancel is refused for the state of the payment alone.
  const mayDecline = declines && call.call !== 'cancel'
  const declined = mayDecline || isRefused === true ? [deliverDeclined(provider, record, call)] : []
  const failures = fails ? deliverFailed(provider, record, call) : []
  if (isRefused === false) return [deliverDoneBefore(provider, call), ...failures]
  return [...done, ...declined, ...failures]
}

/** So that provider keys, which change after a stored failure, are finitely many. */
const KEPT_FAILURES_MAX = 2

/** A 500, which the key keeps if the provider had begun to execute. */
function deliverFailed(provider: Provider, record: ProviderRecord, call: CallRequest): Delivery[] {
  const outcome = failed('possible')
  const early = { label: 'fails early', provider, outcome, isFault: true } as const
  if (keptFailures(record) === KEPT_FAILURES_MAX) return [early]
  const remembered = { ...record.remembered, [call.providerKey ?? '']: 'failed' as const }
  const unfinished = sortCalls([...record.unfinished, call])
  const after = { ...provider, [call.recordId]: { ...record, remembered, unfinished } }
  return [early, { label: 'fails', provider: after, outcome, isFault: true }]
}

/** How many provider keys keep a failure. */
export function keptFailures({ remembered }: ProviderRecord): number {
  return Object.values(remembered).filter((answer) => answer === 'failed').length
}

/** The provider completes the work of a stored failure, unless the state of the object refuses it. */
export function complete(provider: Provider, call: CallRequest): Provider {
  const record = recordOf(provider, call.recordId)
  const unfinished = record.unfinished.filter((other) => nameOf(other) !== nameOf(call))
  const isRefused = checkRefusal(provider, record, call) !== undefined
  const after = isRefused
    ? record
    : { ...afterExecution(record, call), completed: [...record.completed, call.call].toSorted() }
  return { ...provider, [call.recordId]: { ...after, unfinished } }
}

/**
 * Undefined: it executes the call. False: it refuses, because it executed the call before. True: it
 * refuses for another reason.
 */
function checkRefusal(
  provider: Provider,
  record: ProviderRecord,
  { call, amountMinor }: CallRequest,
) {
  if (call === 'capture') return record.captured > 0 ? false : record.canceled || undefined
  if (call === 'cancel') return record.canceled ? false : record.captured > 0 || undefined
  if (call !== 'refund') return undefined
  const refunded = Object.values(provider).reduce((sum, other) => sum + other.refundedMinor, 0)
  return refunded + amountMinor > AMOUNT_MINOR || undefined
}

function deliverExecuted(provider: Provider, record: ProviderRecord, call: CallRequest): Delivery {
  const after = afterExecution(record, call)
  const count = after.authorized + after.refunded
  const remembered = { ...record.remembered, [call.providerKey ?? '']: count }
  return {
    label: 'executed',
    provider: { ...provider, [call.recordId]: { ...after, remembered } },
    outcome: outcomeOf(call, count),
  }
}

function afterExecution(
  record: ProviderRecord,
  { call, amountMinor }: CallRequest,
): ProviderRecord {
  switch (call) {
    case 'authorize':
      return { ...record, authorized: record.authorized + 1 }
    case 'capture': {
      const capturedMinor = record.capturedMinor + amountMinor
      return { ...record, captured: record.captured + 1, capturedMinor }
    }
    case 'cancel':
      return { ...record, canceled: true }
    default: {
      const refundedMinor = record.refundedMinor + amountMinor
      return { ...record, refunded: record.refunded + 1, refundedMinor }
    }
  }
}

/** A declined authorization or refund leaves an object, a refused capture leaves the money held. */
function deliverDeclined(provider: Provider, record: ProviderRecord, call: CallRequest): Delivery {
  const remembered = { ...record.remembered, [call.providerKey ?? '']: 'declined' as const }
  const declined = record.declined || !['capture', 'cancel'].includes(call.call)
  return {
    label: 'declined',
    provider: { ...provider, [call.recordId]: { ...record, remembered, declined } },
    outcome: outcomeOf(call, 'declined'),
  }
}

/** This refusal proves that the call was executed before. */
function deliverDoneBefore(provider: Provider, call: CallRequest): Delivery {
  return { label: 'executed before', provider, outcome: outcomeOf(call, 1) }
}

/** The provider's id of an authorization or a refund. */
const objectIdOf = ({ operationId, call }: CallRequest, count: number): string =>
  `${call === 'refund' || call === 'findRefund' ? 're' : 'pi'}_${operationId.slice(-4)}_${count}`

const EXCHANGE = { asked: {}, answered: {} }

function outcomeOf(call: CallRequest, what: 'declined' | number): Outcome<unknown> {
  if (what === 'declined') {
    const failure = { code: 'card_declined', declineCode: null, message: 'declined' }
    return { outcome: 'declined', failure, providerPaymentId: null, ...EXCHANGE }
  }
  return { outcome: 'done', value: valueOf(call, what), ...EXCHANGE }
}

function valueOf(call: CallRequest, count: number): unknown {
  switch (call.call) {
    case 'authorize':
    case 'findAuthorization':
      return { status: 'held', captureBefore: null, providerPaymentId: objectIdOf(call, count) }
    case 'capture':
    case 'findCapture':
      return { amountCapturedMinor: call.amountMinor }
    case 'cancel':
    case 'findCancel':
      return { reason: null }
    default:
      return { providerRefundId: objectIdOf(call, count), status: 'succeeded', moved: true }
  }
}

/**
 * A lookup: one object gives the outcome, no object proves that nothing was executed, several
 * objects leave the outcome unknown.
 */
function lookUp(record: ProviderRecord, call: CallRequest): Outcome<unknown> {
  if (call.call === 'findCapture') {
    if (record.captured > 0) return outcomeOf(call, 1)
    return record.canceled ? outcomeOf(call, 'declined') : notExecuted
  }
  if (call.call === 'findCancel') {
    if (record.canceled) return outcomeOf(call, 1)
    return record.captured > 0 ? outcomeOf(call, 'declined') : notExecuted
  }
  if (call.call === 'retrieve')
    return { outcome: 'done', value: providerStatusOf(record), ...EXCHANGE }
  const count = call.call === 'findRefund' ? record.refunded : record.authorized
  const objects = count + (record.declined ? 1 : 0)
  if (objects === 0) return notExecuted
  if (objects > 1) return unknownOutcome
  return outcomeOf(call, record.declined ? 'declined' : 1)
}

function providerStatusOf({ captured, capturedMinor, canceled }: ProviderRecord): ProviderStatus {
  if (captured > 0) return { status: 'captured', amountCapturedMinor: capturedMinor }
  return canceled ? { status: 'canceled', reason: null } : { status: 'held', captureBefore: null }
}

export const notExecuted: Outcome<never> = {
  outcome: 'not_executed',
  reason: 'nothing was executed',
  ...EXCHANGE,
}

export const unknownOutcome: Unknown = {
  outcome: 'unknown',
  reason: 'the answer was lost',
  ...EXCHANGE,
}

/** A 500, or its replay. */
const failed = (storedFailure: 'possible' | 'certain'): Outcome<never> => ({
  ...unknownOutcome,
  storedFailure,
})

/** The caller no longer waits, but the call is in flight. Equal calls in flight count once. */
export function addInFlight(provider: Provider, call: CallRequest): Provider {
  const record = recordOf(provider, call.operationId)
  const name = nameOf(call)
  if (record.inFlight.some((other) => nameOf(other) === name)) return provider
  const inFlight = sortCalls([...record.inFlight, call])
  return { ...provider, [call.operationId]: { ...record, inFlight } }
}

const sortCalls = (calls: readonly CallRequest[]): CallRequest[] =>
  calls.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))

/** The call is no longer in flight. */
export function removeInFlight(provider: Provider, call: CallRequest): Provider {
  const record = recordOf(provider, call.operationId)
  const inFlight = record.inFlight.filter((other) => nameOf(other) !== nameOf(call))
  return { ...provider, [call.operationId]: { ...record, inFlight } }
}

const nameOf = (call: CallRequest): string => `${call.call} ${call.providerKey}`

/** The provider forgets the idempotency keys of an operation. */
export function forget(provider: Provider, operationId: string): Provider {
  return { ...provider, [operationId]: { ...recordOf(provider, operationId), remembered: {} } }
}
