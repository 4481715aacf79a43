// The service that has outages: real processes, and a PostgreSQL server of its own if an outage
// stops it.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../dev/embedded-postgres/postgres.ts'
import { migrateDatabase } from '../../src/migrations/migrate.ts'
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
  /** Breaks something, and returns what happens in each minute of the outage. */
  readonly begin: (scene: Scene) => Promise<void | (() => Promise<unknown>)>
  /** Repairs it. Half an hour later no alert may fire. Only the last outage of a service has none. */
  readonly end?: (scene: Scene) => Promise<unknown>
}

interface SceneOptions {
  readonly settings?: Settings
  /** An outage stops PostgreSQL, so they need a server of their own. */
  readonly stopsPostgres?: true
}

/** One service has them, one after the other. */
export interface OutagesOfService extends SceneOptions {
  readonly outages: readonly Outage[]
}

export interface Scene {
  /** With the worker that runs now. */
  service: OwnService
  readonly tenant: Tenant
  readonly postgres: OwnPostgres | undefined
  /** What Prometheus scrapes. */
  targets: readonly Target[]
  /** The maintenance tasks that do not run now. */
  standStill: readonly string[]
  /** For the files of promtool. */
  readonly folder: string
  stop(): Promise<void>
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
  SWEEP_INTERVAL_MS: '100',
  CHECK_INTERVAL_MS: '100',
  REAP_INTERVAL_MS: '100',
  RATE_LIMIT_WRITES: '1000000',
  RATE_LIMIT_READS: '1000000',
  MAX_ACTIVE_KEYS: '100000',
}

export async function startScene({ settings, stopsPostgres }: SceneOptions): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), 'atomic-payments-test-'))
  const postgres = stopsPostgres && (await startPostgres(folder))
  const service = await startService({ ...SETTINGS, ...settings }, postgres?.url)
  return {
    service,
    tenant: await service.createTenant(),
    postgres,
    targets: targetsOf(service),
    standStill: [],
    folder,
    async stop() {
      postgres?.thaw()
      await service.stop()
      await postgres?.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function targetsOf({ api, worker }: OwnService): Target[] {
  return [
    { job: 'atomic-payments-api', process: api },
    { job: 'atomic-payments-worker', process: worker },
  ]
}

export async function killAll(scene: Scene, job: Target['job']): Promise<void> {
  for (const { process } of scene.targets.filter((target) => target.job === job)) {
    process.kill('SIGKILL')
    await process.exited
  }
}

/** The containers of killed processes are gone, and nothing looks for them. */
export function forgetAll(scene: Scene, job: Target['job']): void {
  scene.targets = scene.targets.filter((target) => target.job !== job)
}

export async function replaceWorker(scene: Scene, settings?: Settings): Promise<void> {
  scene.service = { ...scene.service, worker: await scene.service.startWorker(settings) }
  scene.targets = targetsOf(scene.service)
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
