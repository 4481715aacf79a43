// Checks deploy/kubernetes: Kubernetes accepts it, it has no secret, and it fits the settings, scripts
// and limits of the service.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { configVariables, readConfig } from '../../src/config.ts'
import { OTHER_CONNECTIONS } from '../../src/migrations/database-facts.ts'
import { ROOT } from './compose.ts'
import { imageEnvironment } from './dockerfile.ts'
import {
  findManifestErrors,
  kustomization,
  readManifests,
  type Manifest,
  type Workload,
} from './kubernetes.ts'

const manifests = kustomization.resources.flatMap((file) => readManifests(file))
const named = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)
const workloads = [...named('Deployment'), ...named('Job')] as Workload[]
const [settings] = named('ConfigMap') as (Manifest & { data: Record<string, string> })[]
const containerOf = ({ spec }: Workload) => spec.template.spec.containers[0]

/** What a default PostgreSQL leaves to users that are no superuser. */
const CONNECTIONS_MAX = 97

function environmentOf(workload: Workload): Record<string, string> {
  const own = (containerOf(workload).env ?? []).map(({ name, value }) => [name, value])
  return { ...imageEnvironment(), ...settings?.data, ...Object.fromEntries(own) } as Record<
    string,
    string
  >
}

describe.each(
  manifests.map((manifest) => [`${manifest.kind} ${manifest.metadata.name}`, manifest]),
)('%s', (_, manifest) => {
  test('is accepted', async () => {
    expect(await findManifestErrors(manifest as Manifest)).toEqual([])
  })
})

test('a misspelt member and a wrong value are refused', async () => {
  const [api] = workloads
  const wrong = JSON.parse(
    JSON.stringify(api).replaceAll('livenessProbe', 'livenesProbe'),
  ) as Manifest
  expect((await findManifestErrors(wrong)).join()).toContain('livenesProbe')
  const [budget] = named('PodDisruptionBudget')
  const far = { ...budget, spec: { minAvailable: {} } } as unknown as Manifest
  expect((await findManifestErrors(far)).length).toBeGreaterThan(0)
})

test('no manifest has a secret', () => {
  expect(named('Secret')).toEqual([])
  const names = workloads.flatMap((one) => Object.keys(environmentOf(one)))
  expect(names.filter((name) => /KEY|SECRET|PASSWORD|DATABASE_URL/.test(name))).toEqual([])
})

describe.each(workloads.map((workload): [string, Workload] => [workload.metadata.name, workload]))(
  '%s',
  (_, workload) => {
    const environment = environmentOf(workload)
    const { image, command = [], ports = [], ...container } = containerOf(workload)

    test('runs a script of the image', () => {
      expect(kustomization.images.map(({ name }) => name)).toContain(image)
      const [program, script] = command.length > 0 ? command : ['node', 'src/start/api.ts']
      expect(program).toBe('node')
      expect(existsSync(join(ROOT, script ?? ''))).toBe(true)
    })

    test('has settings that exist, and accepts them', () => {
      const own = [
        ...Object.keys(settings?.data ?? {}),
        ...(containerOf(workload).env ?? []).map(({ name }) => name),
      ]
      expect(own.filter((name) => !configVariables.includes(name))).toEqual([])
      expect(() => readConfig(environment)).not.toThrow()
    })

    test('runs without rights', () => {
      expect(container['securityContext']).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    })

    test('ports are those of its settings', () => {
      const { PORT, METRICS_PORT } = environment
      const expected = ports.map(({ name }) => Number(name === 'http' ? PORT : METRICS_PORT))
      expect(ports.map(({ containerPort }) => containerPort)).toEqual(expected)
    })

    test('may complete what it has begun', () => {
      const { terminationGracePeriodSeconds: seconds = 30 } = workload.spec.template.spec
      expect(seconds * 1_000).toBeGreaterThan(Number(environment['SHUTDOWN_TIMEOUT_MS']))
    })
  },
)

test('all replicas together fit into the connections of a default PostgreSQL, also during an update', () => {
  const most = new Map(
    (
      named('HorizontalPodAutoscaler') as (Manifest & {
        spec: { scaleTargetRef: { name: string }; maxReplicas: number }
      })[]
    ).map(({ spec }) => [spec.scaleTargetRef.name, spec.maxReplicas]),
  )
  const connections = (named('Deployment') as Workload[]).map((workload) => {
    const { DATABASE_POOL_SIZE: size } = readConfig(environmentOf(workload))
    const others = OTHER_CONNECTIONS[workload.metadata.name.endsWith('api') ? 'api' : 'worker']
    const replicas = most.get(workload.metadata.name) ?? workload.spec.replicas ?? 1
    const surge = workload.spec.strategy?.rollingUpdate.maxSurge ?? 0
    return (replicas + surge) * (size + others)
  })

  expect(connections.reduce((sum, own) => sum + own)).toBeLessThan(CONNECTIONS_MAX)
})
