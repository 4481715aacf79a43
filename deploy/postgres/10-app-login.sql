-- Run once, when the database of docker-compose.yml is made: the login of the API and the workers. It is a
-- member of the service's role and nothing else; the migration gives that role its rights.
\getenv app_password APP_PASSWORD
create role atomic_payments_service nologin;
create role atomic_payments_app login password :'app_password' in role atomic_payments_service;
