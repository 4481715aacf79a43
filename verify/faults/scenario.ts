// Defines a scenario: what a client requests, on which payment, and what is checked for it alone; and a
// fault: the points it applies to, how it is injected, and what it needs.
import { AMOUNT_MINOR } from '../../test/operations/amount.ts'
import type { Injection, Violation } from './results.ts'
import type { Lane } from './lane.ts'
import type { LaneOptions } from './lane-parts.ts'
import type { Merchant } from './merchant.ts'
import type { Point } from './points.ts'
import type { Action } from './watch.ts'

/** What the lane of a scenario must have. */
export type LaneNeeds = Pick<
  LaneOptions,
  'settings' | 'byName' | 'standbys' | 'pooled' | 'replicated' | 'extraServer' | 'secondProvider'
>

/** The faults that any run may have: a process dies, or a connection is lost. */
export const BASIC_FAULTS: readonly string[] = ['SIGKILL', 'reset']

/** What a fault can use while it is injected. */
export interface FaultContext {
  readonly lane: Lane
  readonly merchant: Merchant
  /** Makes the run wait for work that the fault began, and collects the violations it found. */
  readonly trackWork: (work: Promise<readonly Violation[]>) => void
  /** Reports how long it took until new payments succeeded after PostgreSQL was back. */
  readonly reportReturn: (ms: number) => void
  /** Reports that the fault reached its point but had no effect there. */
  readonly reportMissed: () => void
  /** Whether several operations may be in progress. */
  readonly isConcurrent: boolean
}

export interface Fault {
  readonly name: string
  readonly appliesAt: (point: Point) => boolean
  /** Called while the message of the point is held back. */
  readonly inject: (context: FaultContext, point: Point) => Action
  /** Whether it ends a process, so that a new one has to start. */
  readonly kills?: true
  /** Whether it affects the server, so that the lane needs a server to itself. */
  readonly affectsServer?: true
  /**
   * Whether it is a contest for an operation, which must be the only one of its tenant in progress.
   */
  readonly contests?: true
  /** Whether it needs a server with a standby, in the scenario that has one. */
  readonly needsStandby?: true
  /** Whether it happens to the server of an extra, in a scenario that has one. */
  readonly needsExtraServer?: true
  /** Whether it needs a disk that can be filled, which not every machine provides. */
  readonly needsDisk?: true
}

export interface Scenario {
  readonly name: string
  /** Whether every plan has it: without it a fault would be missing. */
  readonly isNeeded?: true
  /** By default it makes do with any lane. */
  readonly needs?: LaneNeeds
  /**
   * Set for a variant of an operation, with another result; the operation itself is always covered in
   * full. Says whether its provider calls are those of the operation.
   */
  readonly variant?: 'same calls' | 'other calls'
  /** Whether it has several operations in progress at a time. */
  readonly isConcurrent?: true
  /** What strikes it; by default everything does. */
  readonly strikes?: (fault: Fault, point: Point) => boolean
  /** Creates what the operation works on and returns its id. */
  readonly prepare?: (merchant: Merchant) => Promise<string>
  /** Makes the requests. Scenarios with points of their own read from the injections what to do. */
  readonly act: (
    merchant: Merchant,
    id: string,
    injections: readonly Injection[],
  ) => Promise<unknown>
  /** Checks that only this scenario needs, beside the invariants. */
  readonly check?: (merchant: Merchant) => Promise<Violation[]>
}

const CARD = { amount: AMOUNT_MINOR, currency: 'usd', payment_method: 'pm_card_visa' }

export const AUTOMATIC = { ...CARD, capture_method: 'automatic' } as const
export const MANUAL = { ...CARD, capture_method: 'manual' } as const
/** The cardholder has to authenticate. */
export const SECURE = { ...AUTOMATIC, payment_method: 'pm_card_threeDSecureRequired' } as const
/** The provider refuses every capture, and goes on holding the money. */
export const UNCAPTURABLE = {
  ...AUTOMATIC,
  payment_method: 'pm_fault_capture_amount_too_large',
} as const
export const DECLINED = { ...AUTOMATIC, payment_method: 'pm_card_chargeDeclined' }

/** Makes such a payment, which a scenario works on, and returns its id. */
export const paid =
  (body: Parameters<Merchant['pay']>[0]) =>
  async (merchant: Merchant): Promise<string> =>
    (await merchant.pay(body)).resource.id ?? ''

/** The requests that create a payment, for the faults that the provider has for them. */
export const CREATION = { method: 'POST', path: '/v1/payment_intents' } as const
