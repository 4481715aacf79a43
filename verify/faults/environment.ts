// The environment of the lanes: PostgreSQL servers and a folder, made for one run of the suite.
// `remove` leaves nothing behind, however the suite ends.
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { useCheapPasswordHash } from '../../dev/embedded-postgres/with-store.ts'
import { startCuttableRelay } from '../../test/support/cuttable-relay.ts'
import { ReplicatedPostgres } from '../../test/support/replicated-postgres.ts'
import { startEmbeddedPostgres } from '../../dev/embedded-postgres/postgres.ts'
import {
  makeThrowawayFolder,
  removeDatabase,
} from '../../dev/embedded-postgres/throwaway-folder.ts'
import { migrateDatabase } from '../../src/migrations/migrate.ts'
import { type LaneOptions, type LaneServer, makeDatabase, SmallDisk } from './lane-parts.ts'
import { Lane } from './lane.ts'
import { readPatched } from './mutants/mutants.ts'
import { buildPrograms, type Changes, PROGRAMS_UNDER_TEST } from './programs.ts'
import type { LaneNeeds } from './scenario.ts'
import { secondProvider } from './extras.ts'
import { REPOSITORY } from './service-process.ts'

async function startReplicatedServer(
  folder: string,
): Promise<LaneServer & { remove(): Promise<void> }> {
  await mkdir(folder)
  const replicated = await ReplicatedPostgres.start({ folder, prepare: useCheapPasswordHash })
  const address = await startCuttableRelay(() => replicated.primary.relay.port)
  return {
    url: (database) => replicated.urlAt([address.port], database),
    replicated,
    async remove() {
      await Promise.all([replicated.stop(), address.close()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

interface LaneSetup extends LaneNeeds, Pick<LaneOptions, 'lowPriority'> {
  /** The changes of a mutant to the product. */
  readonly changes?: Changes
}

type RunningServer = LaneServer & { remove(): Promise<void> }

export class Environment {
  readonly folder: string
  readonly #servers = new Map<string, Promise<RunningServer>>()
  readonly #lanes: Promise<Lane>[] = []
  readonly #disks: Promise<SmallDisk | string>[] = []
  #programs: Promise<string> | undefined
  #template: Promise<string> | undefined
  /** The statements of idle processes. */
  #idle: Promise<ReadonlySet<string> | undefined> | undefined

  private constructor(folder: string, programs: string | undefined) {
    this.folder = folder
    if (programs !== undefined) this.#programs = Promise.resolve(programs)
  }

  /** @param programs the folder of the product's programs, if they are built. */
  static async create(programs?: string): Promise<Environment> {
    return new Environment(await makeThrowawayFolder('faults'), programs)
  }

  /**
   * Starts a lane. The first one learns the statements of idle processes, without any other load that
   * could delay them. All others wait for that and reuse it.
   *
   * @param ownServer whether faults may affect the server and its disk, without harm to other
   *   lanes.
   */
  async startLane(options: LaneSetup, ownServer = false): Promise<Lane> {
    if (this.#idle !== undefined) return await this.#start(options, ownServer, await this.#idle)
    const first = this.#start(options, ownServer)
    this.#idle = first.then(
      ({ watch }) => watch.statements.idle,
      () => (this.#idle = undefined),
    )
    return await first
  }

  async #start(options: LaneSetup, ownServer: boolean, idle?: ReadonlySet<string>): Promise<Lane> {
    const name = `lane_${this.#lanes.length + 1}`
    const { changes, ...others } = options
    const parts = [
      options.replicated === true
        ? this.#startReplicatedServer(name)
        : this.#startServer(ownServer ? name : 'shared'),
      this.#buildPrograms(name, changes),
    ] as const
    const lane = Promise.all(parts).then(async ([server, programs]) => {
      const own = await this.#makePlace(server, name, ownServer)
      const known = idle === undefined ? {} : { idle }
      const { folder } = this
      return await Lane.start({ ...others, ...own, ...known, programs, server, name, folder })
    })
    this.#lanes.push(lane)
    return await lane
  }

  async #makePlace(server: LaneServer, name: string, ownServer: boolean) {
    if (server.replicated !== undefined) return {}
    if (ownServer) return { disk: await this.#mountDisk(name) }
    return { template: await (this.#template ??= this.#makeTemplate(server)) }
  }

  /** Builds the product once, and each mutant for its own lane. */
  #buildPrograms(lane: string, changes: Changes | undefined): Promise<string> {
    const build = async (folder: string) => {
      const all = new Map([
        ...(await readPatched(secondProvider?.shortWaits ?? [])),
        ...(changes ?? []),
      ])
      await buildPrograms({ root: REPOSITORY, scripts: PROGRAMS_UNDER_TEST, changes: all, folder })
      return folder
    }
    if (changes !== undefined) return build(join(this.folder, `programs-${lane}`))
    return (this.#programs ??= build(join(this.folder, 'programs')))
  }

  #mountDisk(name: string): Promise<SmallDisk | string> {
    const disk = SmallDisk.mount(join(this.folder, `disk-${name}`))
    this.#disks.push(disk)
    return disk
  }

  /** Copying a migrated database is faster than migrating another one. */
  async #makeTemplate(server: LaneServer): Promise<string> {
    const name = 'lane_template'
    await migrateDatabase(await makeDatabase({ server, name }))
    return name
  }

  async #startServer(name: string): Promise<LaneServer> {
    const known = this.#servers.get(name)
    if (known !== undefined) return await known
    const server = this.#runServer(name)
    this.#servers.set(name, server)
    return await server
  }

  /** The servers need not sync, because no fault is a loss of power. */
  async #runServer(name: string): Promise<RunningServer> {
    const directory = join(this.folder, `postgres-${name}`)
    const start = (port?: number) =>
      startEmbeddedPostgres({
        directory,
        durable: false,
        log: () => {},
        ...(port === undefined ? {} : { port }),
      })
    let running = await start()
    // Lanes open connections all the time.
    await useCheapPasswordHash(running.url('postgres'))
    const crash = async () => {
      await running.stop('immediate')
      running = await start(running.port)
    }
    return {
      url: (database) => running.url(database),
      ...(name === 'shared' ? {} : { crash }),
      async remove() {
        await running.stop('immediate')
        await removeDatabase(directory)
      },
    }
  }

  async #startReplicatedServer(lane: string): Promise<LaneServer> {
    const server = startReplicatedServer(join(this.folder, `postgres-${lane}`))
    this.#servers.set(lane, server)
    return await server
  }

  async remove(): Promise<void> {
    const lanes = await Promise.allSettled(this.#lanes)
    const started = lanes.flatMap((lane) => (lane.status === 'fulfilled' ? [lane.value] : []))
    await Promise.all(started.map((lane) => lane.remove()))
    const servers = await Promise.allSettled(this.#servers.values())
    for (const server of servers) {
      // A server that is being restarted ends with its launcher.
      if (server.status === 'fulfilled') await server.value.remove().catch(() => {})
    }
    for (const disk of await Promise.all(this.#disks)) {
      if (typeof disk !== 'string') await disk.unmount()
    }
    await rm(this.folder, { recursive: true, force: true })
  }
}
