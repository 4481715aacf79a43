// Starts the PostgreSQL server that a run compares the in-memory store with. `remove` deletes the
// server and its files, however the run ends.
import { join } from 'node:path'
import { migrateDatabase } from '../../../src/db/migrations/migrate.ts'
import { ensureDatabase } from '../../../dev/embedded-postgres/ensure-database.ts'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../../dev/embedded-postgres/postgres.ts'
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

  /** Creates and migrates a database for each name, and returns their URLs. */
  async start(names: readonly string[]): Promise<string[]> {
    const directory = join(this.#folder, 'postgres')
    // The server does not outlive the run, so it need not survive a power failure: no fsync.
    this.#postgres = startEmbeddedPostgres({ directory, durable: false, log: () => {} })
    const postgres = await this.#postgres
    const urls: string[] = []
    for (const name of names) {
      const url = await ensureDatabase(postgres, name)
      await migrateDatabase(url)
      urls.push(url)
    }
    return urls
  }

  async remove(): Promise<void> {
    await this.#postgres?.then((server) => server.stop('immediate')).catch(() => {})
    await removeThrowawayFolder(this.#folder)
  }
}
