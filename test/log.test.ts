import { spawnSync } from 'node:child_process'
import { expect, test } from '@jest/globals'
import { createLog } from '../src/log.ts'

/** The log line for these fields. */
function lineOf(fields: object): Record<string, unknown> {
  let written = ''
  const log = createLog('test', 'info', { write: (line: string) => void (written += line) })
  log.info(fields, 'said')
  return JSON.parse(written) as Record<string, unknown>
}

test('writes the listed fields', () => {
  const fields = { request: 'req_1', method: 'POST', status: 201, ms: 12, aborted: true }
  const webhook = { delivery: 'wd_1', error: 'no_public_address', because: 'address_refused' }

  expect(lineOf(fields)).toMatchObject({ ...fields, msg: 'said', name: 'test' })
  expect(lineOf(webhook)).toMatchObject(webhook)
})

test('writes each id in the form that the API shows', () => {
  const id = '01890a5d-ac96-774b-bcce-b302099a8057'
  const shown = '01h455vb4pex5vsknk084sn02q'

  expect(lineOf({ operation: id, tenant: id, key: id, run: id, delivery: id })).toMatchObject({
    operation: `op_${shown}`,
    tenant: `tnt_${shown}`,
    key: `key_${shown}`,
    run: `rec_${shown}`,
    delivery: `wd_${shown}`,
  })
})

test.each([
  ['a header', { headers: { authorization: 'Bearer sk_test_1234567890' } }],
  ['a field of a new name', { apiKey: 'sk_test_1234567890' }],
  ['a name, which the process has', { name: 'payment.create' }],
  ['a level of its own', { level: 7 }],
  ['a structure under a name that is known', { reply: { status: 'sk_test_1234567890' } }],
  ['a structure in the place of a word', { status: { key: 'sk_test_1234567890' } }],
  ['a card number as a number', { count: 4_242_424_242_424_242 }],
])('leaves out %s, and writes its name as unlisted', (_what, fields) => {
  const line = lineOf(fields)

  expect(JSON.stringify(line)).not.toMatch(/1234567890|424242/)
  expect(line['unlisted']).toEqual(Object.keys(fields))
})

test('writes a count under any name', () => {
  expect(lineOf({ resumed: 3 })).toMatchObject({ resumed: 3 })
})

const SECRETS = [
  'sk_test_1234567890',
  'rk_live_1234567890',
  'adm_alice_1234567890',
  'whsec_MTIzNDU2Nzg5MA==',
  'pi_1_secret_1234567890',
  '4242424242424242',
  '4242 4242 4242 4242',
]

test.each(SECRETS)('writes the text of an error without %s', (secret) => {
  const wrapped = new Error('wrapped', { cause: new Error(`invalid value "${secret}"`) })
  const line = JSON.stringify([lineOf({ err: wrapped }), lineOf({ reason: `because ${secret}` })])

  expect(line).toContain('invalid value')
  expect(line).not.toMatch(/1234567890|MTIz|4242/)
})

test('describes a copy of an error like the error', () => {
  const copy = { code: '57P01', message: 'the store is away', stack: 'at a.ts' }

  expect(lineOf({ err: copy })['err']).toEqual(copy)
})

test('writes the text of an error without the password of a URL', () => {
  const line = JSON.stringify(lineOf({ err: new Error('postgres://me:hunter2@db:5432/x is down') }))

  expect(line).toContain('postgres://...@db:5432/x')
})

const LOG = new URL('../src/log.ts', import.meta.url).href

/** The output of a process that logs two lines and then runs this code. */
function linesOf(goingOn: string): unknown[] {
  const script = `
    import { createLog } from '${LOG}'
    const log = createLog('test', 'info')
    log.info('one')
    log.info('two')
    ${goingOn}
  `
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script])
  const lines = stdout.toString().trimEnd().split('\n')
  return lines.map((line) => (JSON.parse(line) as { msg: unknown }).msg)
}

test.each([
  ['ends by itself', 'setTimeout(() => log.info("three"), 1)', ['one', 'two', 'three']],
  ['exits', 'process.exit(3)', ['one', 'two']],
  ['fails', 'throw new Error("unforeseen")', ['one', 'two']],
])('loses no line when the process %s', (_how, goingOn, lines) => {
  expect(linesOf(goingOn)).toEqual(lines)
})

test.each([
  ['dots', '4242.4242.4242.4242'],
  ['slashes and brackets', '(4242)/[4242]/4242/4242'],
  ['digits of another script', '\u0664\u0662'.repeat(8)],
])('writes no card number with %s', (_what, number) => {
  const line = JSON.stringify(lineOf({ reason: `card ${number} was refused` }))

  expect(line).toContain('was refused')
  expect(line).not.toMatch(/4242|\u0664\u0662/)
})

test('writes no encryption key, and all of a UUID', () => {
  const key = Buffer.alloc(32, 7).toString('base64')
  const uuid = '8e03978e-40d5-43e8-bc93-6894a57f9324'

  expect(lineOf({ reason: `2026-11:${key} ${uuid}` })['reason']).toBe(`2026-11:... ${uuid}`)
})
