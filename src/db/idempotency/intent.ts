// An operation that a client requests.
import type { KeyRequest } from './reserve-keys.ts'

/** An operation that a client requests. */
export interface Intent extends KeyRequest {
  readonly paymentId: string
  readonly refundId: string | null
  readonly parameters: Readonly<Record<string, unknown>>
  /** The columns of the resource that it creates. */
  readonly details?: IntentDetails | undefined
  /** The span of the request, when it is traced. */
  readonly traceparent?: string | undefined
}

/** The columns of a new resource. */
export type IntentDetails = Readonly<Record<string, unknown>> & {
  /** A customer that the tenant must own. */
  readonly customer?: string | null
  readonly provider?: string
  /** What one payment or refund of the tenant may have. */
  readonly reference?: string | null
}
