import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, lstat, readFile, realpath, rm, watch, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import postgres from 'postgres'
import { findServerAccount } from '../../../dev/embedded-postgres/postgres-account.ts'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../../dev/embedded-postgres/postgres.ts'
import { startProcess } from '../../support/processes.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'

const HOLDER = 'test/dev/embedded-postgres/fixtures/hold-postgres.ts'

const servers: EmbeddedPostgres[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop('immediate')))
})

async function start(directory: string, lines: string[] = []): Promise<EmbeddedPostgres> {
  const log = (line: string) => lines.push(line)
  const server = await startEmbeddedPostgres({ directory, durable: false, log })
  servers.push(server)
  return server
}

async function startInAnotherProcess(directory: string) {
  const holder = startProcess(HOLDER, { args: [directory] })
  const line = await holder.waitForLine((text) => text.startsWith('url '))
  return { holder, url: line.replace('url ', '') }
}

async function query<Row>(url: string, statement: string): Promise<Row | undefined> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    const [row] = await sql.unsafe(statement)
    return row as Row | undefined
  } finally {
    await sql.end()
  }
}

describe('a cluster that exists', () => {
  let directory: string

  beforeAll(async () => {
    directory = join(await makeTemporaryFolder(), 'a folder with spaces', 'postgres')
    const first = await start(directory)
    await query(first.url('postgres'), 'create table kept as select 42 as answer')
    await first.stop()
  })

  const pidFile = () => join(directory, 'cluster', 'postmaster.pid')

  const expectKept = async (server: EmbeddedPostgres) =>
    expect(await query(server.url('postgres'), 'select answer from kept')).toEqual({ answer: 42 })

  test('keeps its data, refuses a wrong password and listens on the loopback interface only', async () => {
    const server = await start(directory)
    await expectKept(server)
    const url = new URL(server.url('postgres'))
    url.password = 'guess'
    await expect(query(url.href, 'select 1')).rejects.toMatchObject({ code: '28P01' })
    const listening = await query(server.url('postgres'), 'show listen_addresses')
    expect(listening).toEqual({ listen_addresses: '127.0.0.1' })
  })

  test('is left to the process that runs a server there, and is taken over when that is killed', async () => {
    const { holder, url } = await startInAnotherProcess(directory)
    await expect(start(directory)).rejects.toThrow('in use by another running process')
    expect(await query(url, 'select 1 as one')).toEqual({ one: 1 })
    holder.kill('SIGKILL')
    await holder.exited
    const orphan = Number.parseInt(await readFile(pidFile(), 'utf8'), 10)
    const lines: string[] = []

    const server = await start(directory, lines)

    expect(lines[0]).toContain(`left running (process ${orphan})`)
    await expectKept(server)
    await expect(query(url, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test.each(['names the killed server', 'names another program', 'is empty'])(
    'recovers when its pid file %s',
    async (condition) => {
      const first = await start(directory)
      process.kill(first.pid, 'SIGKILL')
      await first.exited
      const account = await findServerAccount()
      const otherProgram = spawn('sleep', ['600'], { ...account, cwd: '/', stdio: 'ignore' })
      const [, ...rest] = (await readFile(pidFile(), 'utf8')).split('\n')
      if (condition === 'is empty') await writeFile(pidFile(), '')
      if (condition === 'names another program') {
        await writeFile(pidFile(), [otherProgram.pid, ...rest].join('\n'))
      }

      try {
        await expectKept(await start(directory))
        expect(otherProgram.exitCode ?? otherProgram.signalCode).toBeNull()
      } finally {
        otherProgram.kill()
      }
    },
  )

  test("reports the server's last log lines when it does not start", async () => {
    await appendFile(join(directory, 'cluster', 'postgresql.conf'), 'no_such_setting = 1\n')

    await expect(start(directory)).rejects.toThrow(/did not start:[^]*no_such_setting/)
  })
})

test('creates the cluster at the next start after a kill during initdb', async () => {
  const parent = await makeTemporaryFolder()
  const directory = join(parent, 'postgres')
  const holder = startProcess(HOLDER, { args: [directory] })
  for await (const { filename } of watch(parent, { recursive: true })) {
    if (filename?.includes('unfinished-')) break
  }
  holder.kill('SIGKILL')
  await holder.exited
  expect(existsSync(join(directory, 'cluster'))).toBe(false)

  const server = await start(directory)

  expect(await query(server.url('postgres'), 'select 1 as one')).toEqual({ one: 1 })
})

const testAsRoot = process.getuid?.() === 0 ? test : test.skip

testAsRoot('keeps the cluster elsewhere when only root can enter the folder', async () => {
  const parent = await makeTemporaryFolder(0o700)
  const directory = join(parent, 'postgres')
  const lines: string[] = []
  const first = await start(directory, lines)
  const home = await realpath(directory)
  try {
    await query(first.url('postgres'), 'create table kept as select 42 as answer')
    await first.stop()

    const second = await start(directory)

    expect(lines[0]).toContain(`the database is kept in ${home}`)
    expect((await lstat(directory)).isSymbolicLink()).toBe(true)
    expect(await query(second.url('postgres'), 'select answer from kept')).toEqual({ answer: 42 })
    await second.stop()
  } finally {
    await rm(home, { recursive: true })
  }
})
