// The environment of one run: a PostgreSQL server in a temporary folder, and the service that uses
// it. `remove` deletes everything, even after a failure.
import { join } from 'node:path'
import { migrateDatabase } from '../../src/db/migrations/migrate.ts'
import { ensureDatabase } from '../../dev/embedded-postgres/ensure-database.ts'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../dev/embedded-postgres/postgres.ts'
import {
  makeThrowawayFolder,
  removeThrowawayFolder,
} from '../../dev/embedded-postgres/throwaway-folder.ts'
import { startSubject, type Subject } from './subject.ts'

export class Environment {
  readonly #folder: string
  #postgres: Promise<EmbeddedPostgres> | undefined
  #subject: Promise<Subject> | undefined

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async make(): Promise<Environment> {
    return new Environment(await makeThrowawayFolder('fuzz'))
  }

  async start(): Promise<Subject> {
    const directory = join(this.#folder, 'postgres')
    // The data need not survive a power failure, so PostgreSQL need not sync.
    this.#postgres = startEmbeddedPostgres({ directory, durable: false, log: () => {} })
    const url = await ensureDatabase(await this.#postgres, 'fuzz')
    await migrateDatabase(url)
    this.#subject = startSubject(url, this.#folder)
    return await this.#subject
  }

  /** Stops and removes everything, including parts that are still starting. */
  async remove(): Promise<void> {
    await this.#subject?.then((subject) => subject.stop()).catch(() => {})
    await this.#postgres?.then((server) => server.stop('immediate')).catch(() => {})
    await removeThrowawayFolder(this.#folder)
  }
}
