// Tests what a standby means for what is stored: a synchronous one has all that was acknowledged, an
// asynchronous one may lack the last of it.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { openStore, type Store } from '../../../src/db/connection/client.ts'
import { isConnectionBroken } from '../../../src/db/connection/store-errors.ts'
import { ReplicatedPostgres } from '../../support/replicated-postgres.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'

const LIMIT_MS = 60_000

let postgres: ReplicatedPostgres
let store: Store

function openPair(): Store {
  return openStore({
    url: postgres.url('postgres'),
    applicationName: 'atomic-payments test',
    poolSize: 2,
    timeoutMs: 5_000,
  })
}

function withServers(isSynchronous: boolean): void {
  beforeAll(async () => {
    const folder = await makeTemporaryFolder()
    postgres = await ReplicatedPostgres.start({ folder, isSynchronous })
    store = openPair()
    await store.sql`create table stored (id int)`
    // An asynchronous standby gets it later.
    await until(async () => {
      const [row] = await postgres.standby.sql`select to_regclass('stored') is not null as found`
      return row?.['found'] === true
    })
  }, LIMIT_MS)
  afterAll(async () => {
    await store.close()
    await postgres.stop()
  })
}

/** Loses the primary after its standby was cut off from it. */
async function failOver(): Promise<void> {
  const { primary } = postgres
  await primary.kill()
  await postgres.promote()
  await primary.stop()
}

/** The statement was not executed: its session was given up, or is found at the former primary. */
const NOT_EXECUTED = ['CONNECTION_DESTROYED', 'CONNECTION_ENDED', 'NO_PRIMARY']

/** A session is given up while it has a statement, or just before it gets one. */
function falseIfLost(error: unknown): false {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (NOT_EXECUTED.includes(code) || isConnectionBroken(error)) return false
  throw error
}

async function isStored(id: number): Promise<boolean> {
  const rows = await until(() =>
    store.sql`select from stored where id = ${id}`.catch(() => undefined),
  )
  return rows.length > 0
}

describe('an asynchronous standby', () => {
  withServers(false)

  test(
    'lacks what was acknowledged',
    async () => {
      postgres.primary.relay.cut()
      await postgres.primary.sql`insert into stored values (1)`

      await failOver()

      expect(await isStored(1)).toBe(false)
    },
    LIMIT_MS,
  )

  test(
    'a former primary that still works is left, although it answers',
    async () => {
      await postgres.attachStandby()
      await store.close()
      store = openPair()
      const serverOf = async () =>
        (await store.sql<{ port: string }[]>`select current_setting('port') as port`)[0]?.port
      expect(await serverOf()).toBe(String(postgres.primary.port))

      const former = await postgres.promote()
      // A statement fails that is at the former primary when its sessions are given up.
      const isFollowed = async () => (await serverOf()) === String(postgres.primary.port)
      await until(() => isFollowed().catch(falseIfLost))

      for (let times = 0; times < 20; times += 1) {
        // So can one at another session of the former primary, which is given up later.
        const server = await until(() => serverOf().catch(falseIfLost))
        expect(server).toBe(String(postgres.primary.port))
      }
      await former.stop()
    },
    LIMIT_MS,
  )
})

describe('a synchronous standby', () => {
  withServers(true)

  test(
    'a commit that someone cancels while it waits for the standby counts as unknown',
    async () => {
      const { primary, standby } = postgres
      await standby.freeze()
      const cancelled = expect(store.sql`insert into stored values (1)`).rejects.toThrow(
        'a commit was cancelled before its standby had it',
      )

      await until(async () => {
        const rows = await primary.sql`
        select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'
      `
        return rows.length > 0
      })

      await cancelled
      // The server has it, and reported success.
      expect(await primary.sql`select from stored`).toHaveLength(1)
      await standby.thaw()
    },
    LIMIT_MS,
  )

  // The last test: it ends the primary.
  test(
    'has all that was acknowledged',
    async () => {
      postgres.primary.relay.cut()
      const lost = expect(postgres.primary.sql`insert into stored values (2)`).rejects.toThrow()

      await failOver()

      await lost
      expect(await isStored(2)).toBe(false)
    },
    LIMIT_MS,
  )
})
