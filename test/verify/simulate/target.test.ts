import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { UsageError } from '../../../bench/options.ts'
import { findTarget } from '../../../verify/simulate/target.ts'
import { readConfig } from '../../../src/config.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'

const NOTHING = { url: undefined, apiKey: undefined, providerUrl: undefined }

describe('the target of the simulation', () => {
  test('defaults to the stack of npm start', async () => {
    const DATA_DIR = await makeTemporaryFolder()
    await writeFile(join(DATA_DIR, 'demo-api-key'), 'sk_kept')

    const target = await findTarget(NOTHING, {}, readConfig({ DATA_DIR, HOST: '0.0.0.0' }))

    expect(target).toEqual({
      url: 'http://127.0.0.1:3000',
      apiKey: 'sk_kept',
      providerUrl: 'http://127.0.0.1:3100',
    })
  })

  test('follows the settings of npm start', async () => {
    const settings = { PORT: '4000', MOCK_PROVIDER_PORT: '4100', DEMO_API_KEY: 'sk_demo12345' }

    const target = await findTarget(NOTHING, {}, readConfig(settings))

    expect(target).toEqual({
      url: 'http://127.0.0.1:4000',
      apiKey: 'sk_demo12345',
      providerUrl: 'http://127.0.0.1:4100',
    })
  })

  test('is read from the environment, and first from the options', async () => {
    const environment = { API_URL: 'http://a', API_KEY: 'sk_a', PROVIDER_URL: 'http://p/' }
    const options = { ...NOTHING, url: 'http://b' }

    const target = await findTarget(options, environment, readConfig({}))

    expect(target).toEqual({ url: 'http://b', apiKey: 'sk_a', providerUrl: 'http://p' })
  })

  test('is a usage error without an API key; the message says where to find one', async () => {
    const DATA_DIR = await makeTemporaryFolder()

    const found = findTarget(NOTHING, {}, readConfig({ DATA_DIR }))

    await expect(found).rejects.toThrow(UsageError)
    await expect(found).rejects.toThrow(/npm start stores the demo tenant's API key.*--api-key/)
  })
})
