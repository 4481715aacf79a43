// What the common generators of clients make of openapi.yaml compiles, and pays.
import { execFile } from 'node:child_process'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from '@jest/globals'
import { service, tenant } from '../support/shared-service.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'

const PACKAGES = fileURLToPath(new URL('../../node_modules', import.meta.url))
const DOCUMENT = fileURLToPath(new URL('../../openapi.yaml', import.meta.url))

/** What every program imports. */
const GIVEN = `
declare const process: { argv: string[] }
export const [, , baseUrl = '', apiKey = '', payment_method = ''] = process.argv
export const body = { amount: 1999, currency: 'usd', payment_method }
export const key = crypto.randomUUID()
export const print = (status: number, result: string) => console.log(status, result)
`

/** By default, orval leaves the headers to its user. */
const ORVAL = {
  input: DOCUMENT,
  output: {
    target: 'orval/client.ts',
    client: 'fetch',
    headers: true,
    baseUrl: { runtime: 'baseUrl', imports: [{ name: 'baseUrl', importPath: '../given.js' }] },
  },
}

/** Each has the arguments of the command, and a program that prints what it got. */
const generators = [
  {
    name: 'openapi-typescript',
    command: [
      'openapi-typescript/bin/cli.js',
      DOCUMENT,
      '--output',
      'openapi-typescript/schema.ts',
    ],
    program: `
import createClient from 'openapi-fetch'
import { apiKey, baseUrl, body, key, print } from '../given.js'
import type { paths } from './schema.js'

const headers = { Authorization: 'Bearer ' + apiKey }
const client = createClient<paths>({ baseUrl, headers })
const params = { header: { 'Idempotency-Key': key } }
const { data, error, response } = await client.POST('/v1/payments', { params, body })
if (data) {
  const read = await client.GET('/v1/payments/{id}', { params: { path: { id: data.id } } })
  print(response.status, read.data?.status ?? 'none')
} else print(response.status, 'title' in error ? error.type : 'none')
// @ts-expect-error There is no key.
export const withoutKey = () => client.POST('/v1/payments', { body })
`,
  },
  {
    name: 'openapi-ts',
    command: [
      '@hey-api/openapi-ts/bin/run.js',
      '--input',
      DOCUMENT,
      '--output',
      'openapi-ts',
      '--no-log-file',
    ],
    program: `
import { apiKey, baseUrl, body, key, print } from '../given.js'
import { client } from './client.gen.js'
import { createPayment, getPayment } from './index.js'

client.setConfig({ baseUrl, auth: apiKey })
const headers = { 'Idempotency-Key': key }
const { data, error, response } = await createPayment({ headers, body })
if (data) {
  const read = await getPayment({ path: { id: data.id } })
  print(response?.status ?? 0, read.data?.status ?? 'none')
} else print(error.status, error.type)
// @ts-expect-error There is no key.
export const withoutKey = () => createPayment({ body })
`,
  },
  {
    name: 'orval',
    command: ['orval/dist/bin/orval.mjs', '--config', 'orval.config.mjs'],
    program: `
import { apiKey, body, key, print } from '../given.js'
import { createPayment, getPayment } from './client.js'

const options = { headers: { Authorization: 'Bearer ' + apiKey } }
const { status, data } = await createPayment(body, { 'Idempotency-Key': key }, options)
if ('id' in data) {
  const read = await getPayment(data.id, options)
  print(status, read.status === 200 ? read.data.status : 'none')
} else print(status, 'title' in data ? data.type : 'none')
// @ts-expect-error There is no key.
export const withoutKey = () => createPayment(body)
`,
  },
]

let project: string
let compilerOutput: string

const write = (name: string, text: string) => writeFile(join(project, name), text)

const run = async (script: string, ...args: string[]) =>
  await promisify(execFile)(process.execPath, [script, ...args], { cwd: project })

beforeAll(async () => {
  project = await makeTemporaryFolder()
  await symlink(PACKAGES, join(project, 'node_modules'))
  const compilerOptions = {
    module: 'NodeNext',
    target: 'ES2022',
    lib: ['ES2022', 'DOM'],
    types: [],
    strict: true,
    skipLibCheck: true,
  }
  await write('tsconfig.json', JSON.stringify({ compilerOptions }))
  await write('package.json', '{ "type": "module" }')
  await write('given.ts', GIVEN)
  await write('orval.config.mjs', `export default { payments: ${JSON.stringify(ORVAL)} }`)
  await Promise.all(
    generators.map(async ({ name, command: [script = '', ...args], program }) => {
      await run(join(PACKAGES, script), ...args)
      await write(join(name, 'program.ts'), program)
    }),
  )
  const compiler = join(PACKAGES, 'typescript-7/bin/tsc')
  const compiled = await run(compiler).catch((failed: { stdout: string }) => failed)
  compilerOutput = compiled.stdout
})

test('what they generate compiles, and has no call without a key', () => {
  expect(compilerOutput).toBe('')
})

const pay = async (name: string, paymentMethod: string) => {
  const program = join(project, name, 'program.js')
  return (await run(program, service.apiUrl, tenant.apiKey, paymentMethod)).stdout
}

test.each(generators)('the client of $name pays and reads its payment', async ({ name }) => {
  expect(await pay(name, 'pm_card_visa')).toBe('201 succeeded\n')
})

test.each(generators)('the client of $name gets the type of a problem', async ({ name }) => {
  expect(await pay(name, 'pm_card_visa_chargeDeclined')).toBe('402 /problems/payment-declined\n')
})
