import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { validate } from 'dockerfile-utils'
import { configVariables, readConfig } from '../../src/config.ts'
import {
  copiedPaths,
  dockerfileText,
  execForm,
  imageEnvironment,
  readStages,
  stageNamed,
} from './dockerfile.ts'

const packageJson = JSON.parse(read('package.json')) as {
  devDependencies: Record<string, string>
}
const stages = readStages()
const dependencies = stageNamed('dependencies')
const final = stageNamed('service')

function read(name: string): string {
  return readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')
}

function one(stage: typeof final, name: string): string {
  const found = stage.filter((instruction) => instruction.name === name)
  expect(found).toHaveLength(1)
  return found[0]?.text ?? ''
}

test('passes the linter', () => {
  expect(validate(dockerfileText()).map(({ message }) => message)).toEqual([])
})

test('every stage is based on the tested Node version, and the last stage is the service', () => {
  const node = `node:${packageJson.devDependencies['node']}-trixie-slim`

  expect(stages.map((stage) => one(stage, 'FROM'))).toEqual([
    `${node} AS dependencies`,
    `${node} AS base`,
    'base AS stripe-stand-in',
    'base AS service',
  ])
})

describe('the stage of the dependencies', () => {
  test('copies only the package files, so that it is rebuilt only when they change', () => {
    expect(one(dependencies, 'COPY')).toBe('package.json package-lock.json ./')
  })

  test('installs the locked production packages and runs no package scripts', () => {
    const install = one(dependencies, 'RUN')

    expect(install).toMatch(/^npm ci /)
    for (const option of ['--omit=dev', '--omit=optional', '--ignore-scripts']) {
      expect(install).toContain(option)
    }
  })
})

describe('the image', () => {
  test('runs as an unprivileged user after the last COPY and RUN', () => {
    const names = final.map(({ name }) => name)

    expect(one(final, 'USER')).toBe('node')
    expect(names.indexOf('USER')).toBeGreaterThan(names.lastIndexOf('COPY'))
    expect(names.indexOf('USER')).toBeGreaterThan(names.lastIndexOf('RUN'))
    expect(dockerfileText()).not.toMatch(/--chown|sudo/)
  })

  test('sets NODE_ENV to production, only known settings, and addresses reachable from outside', () => {
    const { NODE_ENV, ...settings } = imageEnvironment()

    expect(NODE_ENV).toBe('production')
    for (const name of Object.keys(settings)) expect(configVariables).toContain(name)
    expect(readConfig(settings)).toMatchObject({ HOST: '0.0.0.0', METRICS_HOST: '0.0.0.0' })
  })

  test('contains no secret', () => {
    expect(dockerfileText()).not.toMatch(/sk_|whsec_|adm_|postgres:\/\/|PASSWORD|SECRET/)
  })

  test('starts node directly, so that node receives the stop signal', () => {
    const [program, script = ''] = execForm(one(final, 'CMD'))

    expect(program).toBe('node')
    expect(() => read(script)).not.toThrow()
  })

  test('has a health check by node, because the image has no curl', () => {
    const [, options = '', command = ''] =
      /^(.*?)\s*CMD (.*)$/.exec(one(final, 'HEALTHCHECK')) ?? []

    expect(options).toMatch(/--interval=\d+s --timeout=\d+s --start-period=\d+s --retries=\d+/)
    expect(execForm(command).slice(0, 2)).toEqual(['node', '-e'])
    expect(execForm(command)[2]).toContain('/healthz')
  })
})

describe('the image of the Stripe stand-in', () => {
  test('contains the stand-in, which the image of the service does not', () => {
    expect(copiedPaths().filter((path) => path.startsWith('dev'))).toEqual([])
    expect(copiedPaths('stripe-stand-in')).toEqual([
      ...copiedPaths(),
      'dev/stand-in',
      'dev/stripe-stand-in',
    ])
  })

  test('runs as an unprivileged user, who may write the data folder', () => {
    const [, script = ''] = execForm(one(stageNamed('stripe-stand-in'), 'CMD'))

    expect(one(stageNamed('stripe-stand-in'), 'USER')).toBe('node')
    expect(script).toBe('dev/stripe-stand-in/main.ts')
    expect(one(stageNamed('stripe-stand-in'), 'RUN')).toContain(
      imageEnvironment('stripe-stand-in')['DATA_DIR'],
    )
  })
})

describe('.dockerignore', () => {
  const lines = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))

  test('includes exactly the copied paths', () => {
    const exceptions = lines.filter((line) => line.startsWith('!'))

    expect(lines[0]).toBe('*')
    expect(exceptions.toSorted()).toEqual(
      [...new Set([...copiedPaths('stripe-stand-in'), 'package-lock.json'])]
        .map((path) => `!${path}`)
        .toSorted(),
    )
  })
})
