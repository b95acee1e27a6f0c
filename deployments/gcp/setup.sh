#!/bin/sh
# Makes what AQB needs in a project of Google Cloud, once: an account with the least that it needs, a registry,
# PostgreSQL for the state, a dataset, secrets, two jobs and their schedules. docs/how-to/gcp.md explains it. Read it, then
# run it in the folder of the project:
#     PROJECT=team-project SOURCE=source-project:chat.view_chat_rows deployments/gcp/setup.sh
set -eu
region=${REGION:-asia-northeast3}
account=aqb@$PROJECT.iam.gserviceaccount.com
image=$region-docker.pkg.dev/$PROJECT/aqb/aqb:$(git rev-parse --short=12 HEAD)
gcloud="gcloud --project=$PROJECT --quiet"

$gcloud services enable artifactregistry.googleapis.com bigquery.googleapis.com cloudbuild.googleapis.com \
    cloudscheduler.googleapis.com run.googleapis.com secretmanager.googleapis.com sqladmin.googleapis.com
$gcloud iam service-accounts create aqb --display-name=AQB

# BigQuery: jobs in this project, tables in one dataset, and the one view that is read.
for role in bigquery.jobUser bigquery.readSessionUser cloudsql.client; do
    $gcloud projects add-iam-policy-binding "$PROJECT" --role="roles/$role" --member="serviceAccount:$account" \
        --condition=None
done
bq --project_id="$PROJECT" mk --dataset --location="$region" "$PROJECT:aqb"
bq --project_id="$PROJECT" query --use_legacy_sql=false \
    "GRANT \`roles/bigquery.dataEditor\` ON SCHEMA \`$PROJECT.aqb\` TO 'serviceAccount:$account'"
bq --project_id="$PROJECT" add-iam-policy-binding --member="serviceAccount:$account" \
    --role=roles/bigquery.dataViewer --table=true "$SOURCE"

# The state: PostgreSQL that is reached through the Cloud SQL connector of the job, by its own user.
password=$(openssl rand -hex 24)
$gcloud sql instances create aqb --database-version=POSTGRES_17 --edition=enterprise --tier=db-f1-micro \
    --region="$region" --backup-start-time=18:00
$gcloud sql databases create aqb --instance=aqb
$gcloud sql users create aqb --instance=aqb --password="$password"

# Secrets, each readable by this account alone. Jobs name them; they are read anew by each run.
printf 'postgresql+psycopg://aqb:%s@/aqb?host=/cloudsql/%s:%s:aqb' "$password" "$PROJECT" "$region" |
    $gcloud secrets create aqb-state-url --data-file=-
printf '%s\n' "${SLACK_WEBHOOK_URL:-}" | # without an address a line, because a secret may not be empty
    $gcloud secrets create aqb-slack-webhook --data-file=-
for secret in aqb-state-url aqb-slack-webhook; do
    $gcloud secrets add-iam-policy-binding "$secret" --role=roles/secretmanager.secretAccessor \
        --member="serviceAccount:$account"
done

# The image, built by Cloud Build from this folder.
$gcloud artifacts repositories create aqb --repository-format=docker --location="$region"
$gcloud builds submit --config=deployments/gcp/build.yaml \
    --substitutions="_IMAGE=$image,_COMMIT=$(git rev-parse HEAD)" .

# Two jobs, and who starts them when.
for job in nightly watch; do
    sed -e "s|@PROJECT@|$PROJECT|g; s|@REGION@|$region|; s|@IMAGE@|$image|; s|@SOURCE@|$(echo "$SOURCE" | tr : .)|" \
        "deployments/gcp/cloud-run-$job.yaml" >"/var/tmp/aqb-$job.yaml"
    $gcloud run jobs replace "/var/tmp/aqb-$job.yaml" --region="$region"
    $gcloud run jobs add-iam-policy-binding "aqb-$job" --region="$region" --role=roles/run.invoker \
        --member="serviceAccount:$account"
done
start() {
    $gcloud scheduler jobs create http "aqb-$1" --location="$region" --schedule="$2" --time-zone=Asia/Seoul \
        --uri="https://run.googleapis.com/v2/projects/$PROJECT/locations/$region/jobs/aqb-$1:run" --http-method=POST \
        --oauth-service-account-email="$account"
}
start nightly "0 1 * * *"
start watch "*/10 * * * *"
