// The service that has an outage: real processes, and a PostgreSQL server of its own if the outage
// stops it.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../dev/embedded-postgres/postgres.ts'
import { migrateDatabase } from '../../src/db/migrations/migrate.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import type { Settings } from '../support/service-parts.ts'
import { signalAll } from '../support/signal-all.ts'
import type { Labels, Target } from './recording.ts'

export interface Outage {
  readonly name: string
  /** The alerts that fire at its end: these and no others. */
  readonly fires: readonly Labels[]
  /** The names of alerts that may fire besides, depending on what was in progress. */
  readonly mayFire?: readonly string[]
  readonly minutes: number
  readonly settings?: Settings
  /** It stops PostgreSQL, so it needs a server of its own. */
  readonly stopsPostgres?: true
  /** Breaks something, and returns what happens in each minute of the outage. */
  readonly begin: (scene: Scene) => Promise<void | (() => Promise<unknown>)>
  /** Repairs it. Half an hour later no alert may fire. */
  readonly end?: (scene: Scene) => Promise<unknown>
}

export interface Scene {
  readonly service: OwnService
  readonly tenant: Tenant
  readonly postgres: OwnPostgres | undefined
  /** What Prometheus scrapes. */
  targets: readonly Target[]
  /** The maintenance tasks that do not run now. */
  standStill: readonly string[]
}

interface OwnPostgres {
  stop(): Promise<void>
  /** Stops the server and these sessions without an end: no connection is closed. */
  freeze(sessions: readonly number[]): void
  thaw(): void
  /** Starts it again on the same port. */
  start(): Promise<void>
}

/**
 * A minute takes a fraction of a second here: enough for each maintenance task to run once. In
 * production a task runs at least six times in a minute, so that counters grow less here.
 */
const SETTINGS = {
  SWEEP_INTERVAL_MS: '50',
  CHECK_INTERVAL_MS: '50',
  REAP_INTERVAL_MS: '50',
  RATE_LIMIT_WRITES: '1000000',
  RATE_LIMIT_READS: '1000000',
  MAX_ACTIVE_KEYS: '100000',
}

/** Starts the service, passes it to the work, and stops it. */
export async function withScene(
  { settings, stopsPostgres }: Outage,
  work: (scene: Scene) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'atomic-payments-test-'))
  const postgres = stopsPostgres && (await startPostgres(directory))
  const service = await startService({ ...SETTINGS, ...settings }, postgres?.url)
  try {
    const tenant = await service.createTenant()
    const targets: Target[] = [
      { job: 'atomic-payments-api', process: service.api },
      { job: 'atomic-payments-worker', process: service.worker },
    ]
    await work({ service, tenant, postgres, targets, standStill: [] })
  } finally {
    postgres?.thaw()
    await service.stop()
    await postgres?.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

async function startPostgres(directory: string): Promise<OwnPostgres & { readonly url: string }> {
  // The server runs under another user.
  await chmod(directory, 0o755)
  const start = (port?: number): Promise<EmbeddedPostgres> =>
    startEmbeddedPostgres({
      directory: join(directory, 'postgres'),
      durable: true,
      ...(port === undefined ? {} : { port }),
      log: () => {},
    })
  let server = await start()
  let frozen: readonly number[] = []
  const url = server.url('postgres')
  await migrateDatabase(url)
  return {
    url,
    freeze(sessions) {
      frozen = [server.pid, ...sessions]
      signalAll(frozen, 'SIGSTOP')
    },
    thaw() {
      signalAll(frozen, 'SIGCONT')
      frozen = []
    },
    stop: () => server.stop('immediate'),
    async start() {
      server = await start(server.port)
    },
  }
}
