// Jest runs this once, before the first test file.
import { prepareTestPackages } from './packages.ts'
import { prepareTestPrograms } from './programs.ts'
import { startPostgresCluster } from './postgres-cluster.ts'

export default async function setUp(): Promise<void> {
  await Promise.all([startPostgresCluster(), prepareTestPackages(), prepareTestPrograms()])
}
