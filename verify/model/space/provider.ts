// The provider: what it has executed for each operation, which keys it remembers, and which calls are on their way.
// It answers what the adapter makes of Stripe's answers: `src/provider/stripe/answers.ts` and `stripe-traces.ts`.
import type { Outcome } from '../../../src/domain/operations/outcome.ts'
import type { CallRequest } from '../programs/requests.ts'
import { AMOUNT_MINOR } from './space.ts'

/** What the provider has of one operation. */
export interface Executed {
  readonly authorized: number
  readonly captured: number
  readonly capturedMinor: number
  readonly refunded: number
  readonly refundedMinor: number
  /** What was authorized can be captured no more. */
  readonly canceled: boolean
  /** It was refused, and there is an object that says so. */
  readonly declined: boolean
  /** By provider key: whether it was done, and as the how-manieth. */
  readonly remembered: Readonly<Record<string, 'declined' | number>>
  /** Calls that nobody waits for any more. */
  readonly flying: readonly CallRequest[]
}

export type Provider = Readonly<Record<string, Executed>>

export const NOTHING_EXECUTED: Executed = {
  authorized: 0,
  captured: 0,
  capturedMinor: 0,
  refunded: 0,
  refundedMinor: 0,
  canceled: false,
  declined: false,
  remembered: {},
  flying: [],
}

/** What may come of a call that reaches the provider. */
export interface Delivered {
  readonly label: string
  readonly provider: Provider
  readonly outcome: Outcome<unknown>
}

export const recordOf = (provider: Provider, operationId: string): Executed =>
  provider[operationId] ?? NOTHING_EXECUTED

export function isLook({ providerKey }: CallRequest): boolean {
  return providerKey === null
}

/** The call reaches the provider. Whatever it has once answered to a key it answers again. */
export function deliver(
  provider: Provider,
  call: CallRequest,
  { declines }: { readonly declines: boolean },
): Delivered[] {
  const record = recordOf(provider, call.operationId)
  if (isLook(call)) return [{ label: 'answered', provider, outcome: find(record, call) }]
  const known = record.remembered[call.providerKey ?? '']
  if (known !== undefined) {
    return [{ label: 'replayed', provider, outcome: outcomeOf(call, known) }]
  }
  const isRefused = refuses(provider, record, call)
  const done = isRefused === undefined ? [executed(provider, record, call)] : []
  const no = declines || isRefused === true ? [refused(provider, record, call)] : []
  return isRefused === false ? [repeated(provider, call)] : [...done, ...no]
}

/** Undefined: it executes it. False: it refuses because it has done it before. True: it refuses. */
function refuses(provider: Provider, record: Executed, { call, amountMinor }: CallRequest) {
  if (call === 'capture') return record.captured > 0 ? false : record.canceled || undefined
  if (call !== 'refund') return undefined
  const refunded = Object.values(provider).reduce((sum, other) => sum + other.refundedMinor, 0)
  return refunded + amountMinor > AMOUNT_MINOR || undefined
}

function executed(provider: Provider, record: Executed, call: CallRequest): Delivered {
  const after = afterExecution(record, call)
  const count = after.authorized + after.refunded
  const remembered = { ...record.remembered, [call.providerKey ?? '']: count }
  return {
    label: 'executed',
    provider: { ...provider, [call.operationId]: { ...after, remembered } },
    outcome: outcomeOf(call, count),
  }
}

function afterExecution(record: Executed, { call, amountMinor }: CallRequest): Executed {
  switch (call) {
    case 'authorize':
      return { ...record, authorized: record.authorized + 1 }
    case 'capture': {
      const capturedMinor = record.capturedMinor + amountMinor
      return { ...record, captured: record.captured + 1, capturedMinor }
    }
    default: {
      const refundedMinor = record.refundedMinor + amountMinor
      return { ...record, refunded: record.refunded + 1, refundedMinor }
    }
  }
}

function refused(provider: Provider, record: Executed, call: CallRequest): Delivered {
  const remembered = { ...record.remembered, [call.providerKey ?? '']: 'declined' as const }
  const canceled = record.canceled || call.call === 'capture'
  const declined = record.declined || call.call !== 'capture'
  return {
    label: 'declined',
    provider: { ...provider, [call.operationId]: { ...record, remembered, canceled, declined } },
    outcome: outcomeOf(call, 'declined'),
  }
}

/** The refusal of what has been done proves that it is done. */
function repeated(provider: Provider, call: CallRequest): Delivered {
  return { label: 'done before', provider, outcome: outcomeOf(call, 1) }
}

/** The provider's id of what an operation has authorized or refunded. */
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
      return { status: 'held', providerPaymentId: objectIdOf(call, count) }
    case 'capture':
    case 'findCapture':
      return { amountCapturedMinor: call.amountMinor }
    default:
      return { providerRefundId: objectIdOf(call, count) }
  }
}

/** What a look finds: one object tells, none proves, several tell nothing. */
function find(record: Executed, call: CallRequest): Outcome<unknown> {
  if (call.call === 'findCapture') {
    if (record.captured > 0) return outcomeOf(call, 1)
    return record.canceled ? outcomeOf(call, 'declined') : notExecuted
  }
  const count = call.call === 'findRefund' ? record.refunded : record.authorized
  const objects = count + (record.declined ? 1 : 0)
  if (objects === 0) return notExecuted
  if (objects > 1) return unknownOutcome
  return outcomeOf(call, record.declined ? 'declined' : 1)
}

export const notExecuted: Outcome<never> = {
  outcome: 'not_executed',
  reason: 'nothing was executed',
  ...EXCHANGE,
}

export const unknownOutcome: Outcome<never> = {
  outcome: 'unknown',
  reason: 'the answer was lost',
  ...EXCHANGE,
}

/** The call is still on its way when nobody waits for it any more. Twice the same is once. */
export function launch(provider: Provider, call: CallRequest): Provider {
  const record = recordOf(provider, call.operationId)
  const name = nameOf(call)
  if (record.flying.some((other) => nameOf(other) === name)) return provider
  const flying = [...record.flying, call].toSorted((one, other) =>
    nameOf(one) < nameOf(other) ? -1 : 1,
  )
  return { ...provider, [call.operationId]: { ...record, flying } }
}

/** It is on its way no more. */
export function land(provider: Provider, call: CallRequest): Provider {
  const record = recordOf(provider, call.operationId)
  const flying = record.flying.filter((other) => nameOf(other) !== nameOf(call))
  return { ...provider, [call.operationId]: { ...record, flying } }
}

const nameOf = (call: CallRequest): string => `${call.call} ${call.providerKey}`

/** The provider forgets the keys of an operation's calls. */
export function forget(provider: Provider, operationId: string): Provider {
  return { ...provider, [operationId]: { ...recordOf(provider, operationId), remembered: {} } }
}
