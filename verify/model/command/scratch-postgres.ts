// The PostgreSQL that a run of the command holds the store in memory to. However it ends, nothing is left.
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

  /** Urls of migrated databases of these names. */
  async start(names: readonly string[]): Promise<string[]> {
    const directory = join(this.#folder, 'postgres')
    // Power is not lost here, so that nothing has to be synced.
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
