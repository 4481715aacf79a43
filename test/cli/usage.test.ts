// The command line of `npm run atomic`: help, wrong usage, the operator's key, and a service that
import { writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { readArguments } from '../../cli/arguments.ts'
import { connect } from '../../cli/connection.ts'
import { UsageError } from '../../cli/errors.ts'
import { helpOf, usages } from '../../cli/usage.ts'
import { OPERATORS } from '../support/admin.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { atomic, urlOfNothing } from './atomic.ts'
import { adminApi } from '../support/for-file.ts'
import { listening, type Listening } from '../support/listening.ts'

const api = adminApi()
/** Something else that listens, or proxies that answer each request themselves. */
const servers: Listening[] = []
let otherUrl: string
const seen: string[] = []

beforeAll(async () => {
  otherUrl = await serve((request, response) => {
    seen.push(request.headers.authorization ?? '')
    response.end('<html>hello</html>')
  })
})
afterAll(async () => {
  for (const server of servers) await server.stop()
})

async function serve(answer: RequestListener): Promise<string> {
  const server = await listening(createServer(answer))
  servers.push(server)
  return server.url
}

const startAnswering = (status: number) =>
  serve((_, response) => void response.writeHead(status, { location: '/elsewhere' }).end())

describe('help', () => {
  test('lists the commands, and says that the key is never an argument', async () => {
    const { code, stdout } = await atomic(api.url, ['--help'])

    expect(code).toBe(0)
    for (const name of Object.keys(usages)) expect(stdout).toContain(`\n  ${name} `)
    expect(stdout).toContain('It is never an argument')
  })

  test.each(Object.keys(usages))('has the usage of %s', (name) => {
    const { command, isHelp } = readArguments([name, '--help'])

    expect(isHelp).toBe(true)
    expect(command && helpOf(command)).toMatch(new RegExp(`^Usage: npm run atomic -- ${name}`))
  })
})

describe('wrong usage', () => {
  test('ends with 2, and names the help', async () => {
    const { code, stderr } = await atomic(api.url, [])

    expect(code).toBe(2)
    expect(stderr).toMatch(/^atomic: .*\nSee: npm run atomic -- --help\n$/)
  })

  test.each([
    ['another command', ['destroy']],
    ['another option', ['unknown', '--force']],
    ['an option of another command', ['unknown', '--since', '2026-01-31T12:00:00Z']],
    ['an option without its value', ['unknown', '--tenant']],
    ['no subject', ['explain']],
    ['two subjects', ['explain', 'op_1', 'op_2']],
    ['a subject too many', ['unknown', 'op_1']],
    ['a URL of another protocol', ['unknown', '--url', 'ftp://127.0.0.1']],
    ['a URL with a password', ['unknown', '--url', 'http://a:b@127.0.0.1']],
    ['a key file that is not there', ['unknown', '--key-file', '/nowhere/key']],
  ])('is %s', async (_, args) => {
    const key = { ATOMIC_ADMIN_KEY: OPERATORS.alice }
    const run = async () => await connect(readArguments(args).options, key)

    await expect(run()).rejects.toThrow(UsageError)
  })

  test('does not repeat a key that was given as an argument', async () => {
    const { alice } = OPERATORS
    for (const args of [['unknown', alice], ['unknown', `--key=${alice}`], [alice]]) {
      const { code, stdout, stderr } = await atomic(api.url, args)

      expect(code).toBe(2)
      expect(stdout + stderr).not.toContain(alice)
    }
  })
})

describe('the key', () => {
  test('comes from a file', async () => {
    const file = join(await makeTemporaryFolder(), 'key')
    await writeFile(file, `${OPERATORS.bob}\n`)

    expect((await atomic(api.url, ['unknown', '--key-file', file], {})).code).toBe(0)
  })

  test('is the one that npm start stored, for a service of this machine only', async () => {
    const folder = await makeTemporaryFolder()
    await writeFile(join(folder, 'admin-api-key'), OPERATORS.alice)

    const here = await atomic(api.url, ['unknown'], { DATA_DIR: folder })
    const elsewhere = await atomic('http://service.example', ['unknown'], { DATA_DIR: folder })

    expect(here.code).toBe(0)
    expect(elsewhere.code).toBe(2)
    expect(elsewhere.stderr).toContain("no operator's key: set ATOMIC_ADMIN_KEY")
  })

  test.each([
    ['a wrong one', 'adm_wrong_0123456789abcdef0123', 1],
    ['one that no header may have', 'adm_b\u00e4d\nsecret_0123456789', 2],
    ['an accepted one', OPERATORS.alice, 0],
  ])('%s is never printed', async (_, key, code) => {
    for (const args of [['unknown'], ['unknown', '--json']]) {
      const run = await atomic(api.url, args, { ATOMIC_ADMIN_KEY: key })

      expect(run.code).toBe(code)
      expect(run.stdout + run.stderr).not.toContain(key.slice(4))
    }
  })
})

describe('a service that does not answer as ours', () => {
  test('is not reachable', async () => {
    const url = await urlOfNothing()

    const { code, stdout, stderr } = await atomic(url, ['unknown'])

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe(`The service at ${url} is not reachable: ECONNREFUSED\n`)
  })

  test('is another one', async () => {
    const { code, stderr } = await atomic(otherUrl, ['unknown'])

    expect(code).toBe(1)
    expect(stderr.replaceAll(/\s+/g, ' ')).toBe(
      `No answer of the service at ${otherUrl}/: the answer is not one of the service: 200, no content type `,
    )
    expect(seen).toHaveLength(1)
  })

  test.each([
    ['resume', ['resume', 'op_1']],
    ['resolve', ['resolve', 'op_1', '--provider-id', 'pi_1']],
    ['replay', ['replay', 'we_1', '--since', '2026-01-31T12:00:00Z']],
  ])('is another one: %s may have taken effect', async (_, args) => {
    const mayHaveRun = 'The command may have taken effect.'
    for (const url of [otherUrl, await startAnswering(524), await startAnswering(302)]) {
      const { code, stderr } = await atomic(url, args)
      expect(code).toBe(1)
      expect(stderr.replaceAll(/\s+/g, ' ')).toContain(mayHaveRun)
    }
    const { stderr } = await atomic(await urlOfNothing(), args)
    expect(stderr).toContain('is not reachable: ECONNREFUSED')
    expect(stderr).not.toContain(mayHaveRun)
  })

  test('has no operators', async () => {
    const url = await api.serve({ ADMIN_API_KEY: '' })

    const { code, stderr } = await atomic(url, ['tail'])

    expect(code).toBe(1)
    expect(stderr).toMatch(/^The service refused: /)
  })
})
