// Defines the two sides that every command changes and compares: the model, and the real service.
import type { ApiResponse } from '../support/client.ts'
import type { ServiceInProcess } from '../support/service-in-process.ts'
import type { Tenant } from '../support/service.ts'
import type { Payment } from './model.ts'

/** A request with a used-up key, with its final answer. */
export interface Finished {
  readonly key: string
  readonly path: string
  readonly body: Record<string, unknown>
  readonly answer: ApiResponse
}

export interface Model {
  readonly fees: { basisPoints: number; fixedMinor: number }
  payments: Payment[]
  readonly finished: Finished[]
  /** Keys of refused requests, which are not used up. */
  readonly refusedKeys: string[]
}

export interface Real {
  readonly service: ServiceInProcess
  readonly tenant: Tenant
}
