// The client-side record of a run: every intended operation, its key and its final answers. The
// invariants compare it with the other records, so nothing in it comes from the service's database.
import { randomUUID } from 'node:crypto'

export interface PaymentBody {
  readonly amount: number
  readonly currency: string
  readonly payment_method?: string
  /** Instead of one: by the name of the provider. */
  readonly payment_methods?: Readonly<Record<string, string>>
  readonly customer?: string
  readonly reference?: string
  readonly capture_method: 'automatic' | 'manual'
  readonly metadata: Record<string, string>
}

/** The content of a request. Every retry sends the same content. */
export type RequestContent =
  | { readonly kind: 'payment.create'; readonly body: PaymentBody }
  | { readonly kind: 'payment.capture'; readonly paymentId: string; readonly amount: number }
  | { readonly kind: 'payment.cancel'; readonly paymentId: string }
  | {
      readonly kind: 'refund.create'
      readonly paymentId: string
      readonly body: {
        readonly amount: number
        readonly reference?: string
        readonly metadata: Record<string, string>
      }
    }
  | {
      /** Any other operation on a payment, by its route. */
      readonly kind: 'operation'
      readonly path: string
      readonly paymentId: string
      readonly body: Readonly<Record<string, unknown>>
    }

export interface Answer {
  readonly status: number
  /** The resource in the body. Not used if the body is a problem. */
  readonly resource: { readonly id?: string; readonly object?: string; readonly status?: string }
  /** Digest of the body: equal only for equal bytes. */
  readonly digest: string
  readonly isReplay: boolean
  /** The name of the problem, if the body is one. */
  readonly problem: string | undefined
  /** The payment or refund that the problem names as the earlier one. */
  readonly earlier?: string
}

/** One intended operation. */
export interface Operation {
  readonly content: RequestContent
  readonly key: string
  /**
   * Identifies the operation in its metadata, in the service and at the provider. Unique in a run, but
   * for operations that ask for the same: the provider may execute one of them.
   */
  readonly label: string
  /** All final answers for its key, in the order of arrival. */
  readonly answers: Answer[]
  /** The last answer that was not final, if any. */
  pending: Answer | undefined
  /** Whether its client has canceled its key, so that what it took is refunded. */
  isCanceled?: true
  /** How many of its answers came before its stored response was dropped, if it was. */
  droppedAfter?: number
}

/** A request that the service must refuse, and its answer. */
export interface RefusedRequest {
  readonly key: string
  readonly label: string
  /** `reuse`: it has the key of another request. */
  readonly why: 'reuse' | 'invalid' | 'too_much'
  readonly answer: Answer | undefined
}

export interface History {
  /** The name of the run. It is in the metadata of everything that the run sends. */
  readonly run: string
  readonly startedAt: Date
  readonly operations: Operation[]
  readonly refused: RefusedRequest[]
}

/** @param kind the prefix of the run's name. */
export function startHistory(kind: string): History {
  // A whole UUID: a part of one may look like a card number, and the service would refuse it.
  return { run: `${kind}-${randomUUID()}`, startedAt: new Date(), operations: [], refused: [] }
}

/** The metadata fields that hold the name of the run and the label of the request. */
export const RUN_FIELD = 'simulation'
export const LABEL_FIELD = 'simulated'

const IN_PROGRESS: readonly (string | undefined)[] = [
  'operation-in-progress',
  'outcome-unknown',
  'request-timeout',
]

/** Whether every retry gets the same answer. */
export function isFinal({ status, problem }: Answer): boolean {
  return status !== 202 && status !== 429 && status < 500 && !IN_PROGRESS.includes(problem)
}

/** Whether the service answered that the operation succeeded. */
export function isDone({ answers }: Operation): boolean {
  const status = answers[0]?.status ?? 0
  return status >= 200 && status < 300
}
