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

test('has no fault that a linter knows', () => {
  expect(validate(dockerfileText()).map(({ message }) => message)).toEqual([])
})

test('a fault would be found', () => {
  expect(validate('FROM node\nRUNN npm ci\n')).not.toEqual([])
})

test('every stage starts from the Node version that is tested here, and the last one is the service', () => {
  const node = `node:${packageJson.devDependencies['node']}-trixie-slim`

  expect(stages.map((stage) => one(stage, 'FROM'))).toEqual([
    `${node} AS dependencies`,
    `${node} AS base`,
    'base AS stripe-stand-in',
    'base AS service',
  ])
})

describe('the stage of the packages', () => {
  test('copies the lock file and nothing else, so that it is made anew only when that changes', () => {
    expect(one(dependencies, 'COPY')).toBe('package.json package-lock.json ./')
  })

  test('installs exactly what is locked, for production, and runs no script of a package', () => {
    const install = one(dependencies, 'RUN')

    expect(install).toMatch(/^npm ci /)
    for (const option of ['--omit=dev', '--omit=optional', '--ignore-scripts']) {
      expect(install).toContain(option)
    }
  })
})

describe('the image', () => {
  test('runs as a user without rights, from the last copy on', () => {
    const names = final.map(({ name }) => name)

    expect(one(final, 'USER')).toBe('node')
    expect(names.indexOf('USER')).toBeGreaterThan(names.lastIndexOf('COPY'))
    expect(names.indexOf('USER')).toBeGreaterThan(names.lastIndexOf('RUN'))
    expect(dockerfileText()).not.toMatch(/--chown|sudo/)
  })

  test('is set for production, with settings that we know, reachable from outside of it', () => {
    const { NODE_ENV, ...settings } = imageEnvironment()

    expect(NODE_ENV).toBe('production')
    for (const name of Object.keys(settings)) expect(configVariables).toContain(name)
    expect(readConfig(settings)).toMatchObject({ HOST: '0.0.0.0', METRICS_HOST: '0.0.0.0' })
  })

  test('holds no secret', () => {
    expect(dockerfileText()).not.toMatch(/sk_|whsec_|adm_|postgres:\/\/|PASSWORD|SECRET/)
  })

  test('says the ports that it listens on', () => {
    const { PORT, METRICS_PORT } = imageEnvironment()

    expect(one(final, 'EXPOSE').split(' ')).toEqual([PORT, METRICS_PORT])
  })

  test('starts node itself, which is then the one that is told to stop', () => {
    const [program, script = ''] = execForm(one(final, 'CMD'))

    expect(program).toBe('node')
    expect(() => read(script)).not.toThrow()
  })

  test('is checked for its health by node, because it has no curl', () => {
    const [, options = '', command = ''] =
      /^(.*?)\s*CMD (.*)$/.exec(one(final, 'HEALTHCHECK')) ?? []

    expect(options).toMatch(/--interval=\d+s --timeout=\d+s --start-period=\d+s --retries=\d+/)
    expect(execForm(command).slice(0, 2)).toEqual(['node', '-e'])
    expect(execForm(command)[2]).toContain('/healthz')
  })
})

describe('the image of the Stripe stand-in', () => {
  test('adds the stand-in, which the image of the service does not contain', () => {
    expect(copiedPaths().filter((path) => path.startsWith('dev'))).toEqual([])
    expect(copiedPaths('stripe-stand-in')).toEqual([...copiedPaths(), 'dev/stripe-stand-in'])
  })

  test('runs it as a user without rights, which may write its data', () => {
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

  test('lets in what is copied, and nothing else', () => {
    const [everything, ...exceptions] = lines

    expect(everything).toBe('*')
    expect(exceptions.toSorted()).toEqual(
      [...new Set([...copiedPaths('stripe-stand-in'), 'package-lock.json'])]
        .map((path) => `!${path}`)
        .toSorted(),
    )
  })
})
