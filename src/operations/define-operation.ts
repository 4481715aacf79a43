// The shape of an operation: a table of atomic phases. A phase's `call` gets the provider and never a
// transaction, its `record` gets a transaction and never the provider, so that neither a second
// foreign call in a phase nor a foreign call inside a transaction can be written.
import type { Transaction } from '../db/client.ts'
import type { StoredResponse } from '../domain/operation.ts'
import type { Outcome, Settled } from '../domain/outcome.ts'
import type { Payment } from '../domain/payment.ts'
import type { CallIdentity, PaymentProvider } from '../provider/payment-provider.ts'

/** What a phase's transaction decides: the next recovery point, or the end and its response. */
export type Step<Point extends string> =
  | { readonly kind: 'advance'; readonly to: Point; readonly payment: Payment }
  | { readonly kind: 'finish'; readonly response: StoredResponse }

export function advanceTo<const Point extends string>(to: Point, payment: Payment): Step<Point> {
  return { kind: 'advance', to, payment }
}

export function finish(response: StoredResponse): Step<never> {
  return { kind: 'finish', response }
}

interface CallPhase<Point extends string, Value> {
  call(provider: PaymentProvider, payment: Payment, identity: CallIdentity): Promise<Outcome<Value>>
  record(tx: Transaction, payment: Payment, settled: Settled<Value>): Promise<Step<Point>>
}

interface QuietPhase<Point extends string> {
  readonly call?: undefined
  record(tx: Transaction, payment: Payment): Promise<Step<Point>>
}

type Phase<Point extends string, Value> = CallPhase<Point, Value> | QuietPhase<Point>

/** What the resource shows when the engine cannot go on by itself. */
export interface Standstills {
  /** The foreign call may have run; the reconciler will find out. */
  unknown(tx: Transaction, payment: Payment): Promise<void>
  /** It is proved that nothing foreign happened in the phase; the client's next retry goes on. */
  failed(tx: Transaction, payment: Payment): Promise<void>
  /** The client has retried what had failed. */
  reopened(tx: Transaction, payment: Payment): Promise<void>
}

export interface Operation {
  readonly name: string
  readonly phases: Readonly<Record<string, Phase<string, unknown>>>
  readonly standstills: Standstills
}

/**
 * Defines an operation by its phase table: one row for each recovery point, `started` first. A
 * recovery point that `advanceTo` names and the table lacks does not compile.
 */
export function defineOperation<Values extends { started: unknown }>(
  name: string,
  phases: { readonly [Point in keyof Values]: Phase<keyof Values & string, Values[Point]> },
  standstills: Standstills,
): Operation {
  return { name, phases, standstills }
}
