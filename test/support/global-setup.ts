// Jest runs this once, before the first test file.
export { startPostgresCluster as default } from './postgres-cluster.ts'
