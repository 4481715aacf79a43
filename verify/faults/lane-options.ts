// Defines what a lane is made with: its server, its database, its programs and their settings.
import type { ReplicatedPostgres } from '../../test/support/replicated-postgres.ts'
import type { Role } from './points.ts'
import type { SmallDisk } from './small-disk.ts'

export interface LaneServer {
  url(database: string): string
  /** Crashes the server and resolves when it works again; undefined for a shared server. */
  readonly crash?: () => Promise<void>
  /** The primary to which the URL leads, and its standby; undefined for a server without one. */
  readonly replicated?: ReplicatedPostgres
}

export interface LaneOptions {
  /** Shared with other lanes, unless faults affect the server itself. */
  readonly server: LaneServer
  /** The name of the database, which the lane creates. */
  readonly name: string
  /** Statements of idle processes that an earlier lane learned, because learning takes seconds. */
  readonly idle?: ReadonlySet<string>
  /** Where the lane may write files. */
  readonly folder: string
  /** The folder with the bundled programs. */
  readonly programs: string
  /** Settings of API and worker that differ from `SHORT_LIMITS`. */
  readonly settings?: Readonly<Record<string, string>>
  /** A migrated database of the same server to copy. */
  readonly template?: string
  /** The disk of the database, or why there is none; undefined when the server is shared. */
  readonly disk?: SmallDisk | string
  /** The roles with a standby process, which costs as much as a working one; by default both. */
  readonly standbys?: readonly Role[]
  /** Whether API and worker reach the server through PgBouncer, in transaction mode. */
  readonly pooled?: boolean
  /** Whether the server has a synchronous standby. */
  readonly replicated?: boolean
  /** Whether API processes share copies of answers in a Redis of the lane. */
  readonly redis?: boolean
  /** Whether there is a second provider, to which payments can move. */
  readonly secondProvider?: boolean
  /** Whether the worker has to ask the lane's name server for the address of the provider. */
  readonly byName?: boolean
  /** Whether API and worker run at a lower priority than those of other lanes. */
  readonly lowPriority?: boolean
}
