// Starts the PostgreSQL server that a run compares the in-memory store with. `remove` deletes the
// server and its files, however the run ends.
import { join } from 'node:path'
import { migrateDatabase } from '../../../src/db/migrations/migrate.ts'
import { ensureDatabase } from '../../../dev/embedded-postgres/ensure-database.ts'
import type { EmbeddedPostgres } from '../../../dev/embedded-postgres/postgres.ts'
import { startEmbeddedPostgres } from '../../../dev/embedded-postgres/postgres.ts'
import {
  makeThrowawayFolder,
  removeThrowawayFolder,
} from '../../../dev/embedded-postgres/throwaway-folder.ts'

export class ScratchPostgres {
  readonly #folder: string
  #postgres: Promise<EmbeddedPostgres> | undefined

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async make(): Promise<ScratchPostgres> {
    return new ScratchPostgres(await makeThrowawayFolder('model'))
  }

  /** Returns the URL of a migrated database. */
  async start(): Promise<string> {
    const directory = join(this.#folder, 'postgres')
    // The server does not outlive the run, so it need not survive a power failure: no fsync.
    this.#postgres = startEmbeddedPostgres({ directory, durable: false, log: () => {} })
    const postgres = await this.#postgres
    const url = await ensureDatabase(postgres, 'histories')
    await migrateDatabase(url)
    return url
  }

  async remove(): Promise<void> {
    await this.#postgres?.then((server) => server.stop('immediate')).catch(() => {})
    await removeThrowawayFolder(this.#folder)
  }
}
