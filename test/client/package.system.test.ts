// The client as a package: the quick start of its README in a project of its own, which has the archive
// of `npm pack`, TypeScript's strict mode for ES2022, and nothing of this repository.
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from '@jest/globals'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { respond, startServiceDouble } from './service-double.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PACKAGE = 'atomic-payments-client'

/** What the README leaves to its reader. */
const GIVEN = `
export const order: { idempotencyKey?: string } = {}
export const orders = { save: async (_: typeof order) => {} }
export const idempotencyKey = 'order-1'
export const body = { amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' }
`

let project: string

const run = promisify(execFile)

beforeAll(async () => {
  const source = await makeTemporaryFolder()
  await cp(join(ROOT, 'client'), join(source, 'client'), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(source, 'node_modules'))
  await run('npm', ['pack', '--pack-destination', source], { cwd: join(source, 'client') })

  project = await makeTemporaryFolder()
  const packages = join(project, 'node_modules')
  await mkdir(packages)
  const { version } = JSON.parse(await readFile(join(ROOT, 'client/package.json'), 'utf8')) as {
    version: string
  }
  await run('tar', ['-xzf', join(source, `${PACKAGE}-${version}.tgz`), '-C', packages])
  await cp(join(packages, 'package'), join(packages, PACKAGE), { recursive: true })
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers']) {
    await cp(join(ROOT, 'node_modules', name), join(packages, name), { recursive: true })
  }
  await write('package.json', JSON.stringify({ type: 'module' }))
  await write('given.ts', GIVEN)
  const [quickStart = '', errors = ''] = await snippets()
  const given = "import { body, idempotencyKey, order, orders } from './given.js'\n"
  await write('quick-start.ts', `${given}${quickStart}export { payment }\n`)
  await write('errors.ts', `import { client } from './client.js'\n${given}${errors}`)
  await write('client.ts', clientOf(quickStart))
})

const write = async (name: string, text: string) => await writeFile(join(project, name), text)

/** The blocks of TypeScript in the README of the package, in order. */
async function snippets(): Promise<string[]> {
  const readme = await readFile(join(project, 'node_modules', PACKAGE, 'README.md'), 'utf8')
  return [...readme.matchAll(/```ts\n([^]*?)```/g)].map(([, code = '']) => code)
}

/** The lines of the quick start that make the client, which the later block uses. */
const clientOf = (quickStart: string): string =>
  quickStart
    .split('\n')
    .filter((line) => line.includes('createClient'))
    .join('\n')
    .replace('const client', 'export const client')

/** What the compiler says about the project. It also writes the compiled code. */
async function compile(compiler: string, options: object): Promise<string> {
  const compilerOptions = { strict: true, target: 'ES2022', skipDefaultLibCheck: true, ...options }
  await write('tsconfig.json', JSON.stringify({ compilerOptions }))
  const tsc = join(ROOT, 'node_modules', compiler, 'bin/tsc')
  const said = run(process.execPath, [tsc], { cwd: project }).catch((failed: Said) => failed)
  return (await said).stdout
}

interface Said {
  readonly stdout: string
}

test.each([
  ['typescript-7', { module: 'ESNext', moduleResolution: 'bundler' }],
  [
    'typescript-7',
    { module: 'NodeNext', lib: ['ES2022', 'DOM'], exactOptionalPropertyTypes: true },
  ],
  ['typescript', { module: 'NodeNext' }],
])('%s compiles the README with %j', async (compiler, options) => {
  expect(await compile(compiler, options)).toBe('')
})

test('the compiled quick start pays', async () => {
  const payment = { id: 'pay_1', object: 'payment', status: 'succeeded' }
  const double = await startServiceDouble(respond(201, payment))
  const file = join(project, 'quick-start.js')
  const code = await readFile(file, 'utf8')
  await writeFile(file, code.replace('http://127.0.0.1:3000', double.url))

  const printed = await run(process.execPath, [
    '--input-type=module',
    '--eval',
    `console.log(JSON.stringify((await import('${pathToFileURL(file).href}')).payment))`,
  ])
  await double.stop()

  expect(JSON.parse(printed.stdout)).toEqual(payment)
  expect(double.received).toMatchObject([{ method: 'POST', key: expect.any(String) }])
})
