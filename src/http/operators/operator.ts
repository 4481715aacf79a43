// Defines the people who run the service, as requests know them.
import type { Config } from '../../config.ts'

/** A key with the name and the role of its operator. */
export type OperatorKey = NonNullable<Config['ADMIN_API_KEY']>[number]

/** The person who sends a request. */
export type Operator = Pick<OperatorKey, 'name' | 'role'>

/** A session of the console that has not ended. */
export interface OpenSession {
  readonly operator: Operator
  readonly tokenHash: Buffer
  /** Every change needs it. */
  readonly csrfToken: string
  readonly expiresAt: Date
}
