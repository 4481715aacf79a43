// A migrated database on a PostgreSQL server of its own, in a temporary folder. `remove` deletes the
// server and its files, however the run ends.
import { join } from 'node:path'
import { ensureDatabase } from '../dev/embedded-postgres/with-store.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../dev/embedded-postgres/postgres.ts'
import {
  makeThrowawayFolder,
  removeThrowawayFolder,
} from '../dev/embedded-postgres/throwaway-folder.ts'
import { migrateDatabase } from '../src/migrations/migrate.ts'

export class ScratchPostgres {
  readonly folder: string
  #server: Promise<EmbeddedPostgres> | undefined

  private constructor(folder: string) {
    this.folder = folder
  }

  static async make(name: string): Promise<ScratchPostgres> {
    return new ScratchPostgres(await makeThrowawayFolder(name))
  }

  /** Returns the URL of the database. */
  async start(): Promise<string> {
    const directory = join(this.folder, 'postgres')
    // It does not outlive the run, so it need not survive a power failure: no fsync.
    this.#server = startEmbeddedPostgres({ directory, durable: false, log: () => {} })
    const url = await ensureDatabase(await this.#server, 'scratch')
    await migrateDatabase(url)
    return url
  }

  async remove(): Promise<void> {
    await this.#server?.then((server) => server.stop('immediate')).catch(() => {})
    await removeThrowawayFolder(this.folder)
  }
}
