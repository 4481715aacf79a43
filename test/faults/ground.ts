// What the lanes stand on: a PostgreSQL server and a folder, made for one run of the suite. However it ends,
// nothing is left.
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/embedded/postgres.ts'
import { Lane, type LaneOptions } from './lane.ts'

export class Ground {
  readonly folder: string
  #server: Promise<EmbeddedPostgres> | undefined
  readonly #lanes: Promise<Lane>[] = []

  private constructor(folder: string) {
    this.folder = folder
  }

  static async make(): Promise<Ground> {
    const folder = await mkdtemp(join(tmpdir(), 'atomic-payments-faults-'))
    // Root's server runs as the user `postgres`, who has to get in.
    await chmod(folder, 0o755)
    return new Ground(folder)
  }

  /** The server that lanes share. Power is not lost here, so that it need not sync. */
  server(): Promise<EmbeddedPostgres> {
    const directory = join(this.folder, 'postgres')
    this.#server ??= startEmbeddedPostgres({ directory, durable: false, log: () => {} })
    return this.#server
  }

  async startLane(options: Pick<LaneOptions, 'root' | 'settings'>): Promise<Lane> {
    const server = await this.server()
    const name = `lane_${this.#lanes.length + 1}`
    const lane = Lane.start({ ...options, server, name, folder: this.folder })
    this.#lanes.push(lane)
    return await lane
  }

  async remove(): Promise<void> {
    const lanes = await Promise.allSettled(this.#lanes)
    const started = lanes.flatMap((lane) => (lane.status === 'fulfilled' ? [lane.value] : []))
    await Promise.all(started.map((lane) => lane.remove()))
    await this.#server?.then((server) => server.stop('immediate')).catch(() => {})
    const directory = join(this.folder, 'postgres')
    // It may be a link to a place that the server can reach.
    await rm(await realpath(directory).catch(() => directory), { recursive: true, force: true })
    await rm(this.folder, { recursive: true, force: true })
  }
}
